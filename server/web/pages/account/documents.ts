import { z } from 'zod'
import { type Clock, monthName, monthStart } from '../../../../core/clock.ts'
import { Fault } from '../../../../core/errors.ts'
import { isCountry } from '../../../../core/finance/documents/party.ts'
import type { DocumentJson } from '../../../rest/account/documents.ts'
import type { BillingJson } from '../../../rest/account/party-fields.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { DOCUMENTS_PATH, documentTable, type SingleKind } from '../../documents-table.ts'
import { form, formFields } from '../../form.ts'
import { monthField, optionalText } from '../../form-schemas.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { pager } from '../../table.ts'

const ROOT = '/v1/documents'

/** Buttons that issue a document to which other pages link. */
const BUTTONS: Readonly<Record<SingleKind, string>> = {
  purchase: 'Issue receipt for this purchase',
  call: 'Issue receipt for this call',
  'credit-note': 'Issue credit note for the refund',
  commission: 'Issue commission statement of this payout',
}
const single = z.enum(Object.keys(BUTTONS) as [SingleKind, ...SingleKind[]])

/** `/account/documents`: receipts, statements and credit notes, and billing details. */
export const documentsPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(DOCUMENTS_PATH, {
    query: z.object({
      kind: single.optional(),
      id: z.uuid().optional(),
      cursor: z.string().max(500).optional(),
    }),
    actions: ACTIONS,
    notices: {
      issued: 'Issued. You can download it below.',
      billing: 'Billing details saved. They apply to new documents.',
    },
    render: async (request) => {
      const { api, query } = request
      const { kind, id, cursor } = query
      const [documents, billing] = await Promise.all([
        api<ListPage<DocumentJson>>(`GET ${ROOT}`, { query: { cursor } }),
        findBilling(request),
      ])
      const hasSubject = kind !== undefined && id !== undefined
      return {
        title: 'Documents',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Documents</h1><p class="lead">Receipts, monthly statements and credit notes,
as PDF, as electronic invoice (EN 16931) and as data. Documents state the billing details that you
have when they are issued, and never change.</p>${
          hasSubject && form({ act: 'issue', submit: BUTTONS[kind], hidden: { kind, id } })
        }${statementForm(request, monthName(monthStart(clock.now(), -1)))}${
          documents.data.length === 0
            ? emptyState(
                'No documents yet.',
                html`<p>Receipts of purchases and calls are issued from the
<a href="/account/history">history</a>.</p>`,
              )
            : html`${documentTable(documents.data, ROOT)}${pager(
                DOCUMENTS_PATH,
                { cursor },
                documents.next_cursor,
              )}`
        }${billingForm(request, billing)}`,
      }
    },
  })

const ACTIONS = {
  issue: formAction({
    fields: z.object({ kind: single, id: z.uuid() }),
    run: async ({ api }, body) => {
      await api(`POST ${ROOT}`, { body })
      return { to: `${DOCUMENTS_PATH}?done=issued` }
    },
  }),
  statement: formAction({
    fields: z.object({
      month: monthField,
      wallet: z
        .string()
        .trim()
        .regex(/^(?:0x[\da-fA-F]{40})?$/, 'enter a wallet address')
        .default(''),
    }),
    run: async ({ api }, { month, wallet }) => {
      await api(`POST ${ROOT}`, {
        body: { kind: 'statement', month, ...(wallet !== '' && { wallet }) },
      })
      return { to: `${DOCUMENTS_PATH}?done=issued` }
    },
  }),
  billing: formAction({
    fields: z.object({
      legal_name: z.string().trim().min(1, 'enter a name').max(200),
      email: z.email('enter an email address').max(254),
      country: z
        .string()
        .trim()
        .toUpperCase()
        .refine(isCountry, 'enter a country code, such as DE'),
      address: optionalText(500),
      registration: optionalText(60),
      tax_id: optionalText(60),
    }),
    run: async ({ api }, body) => {
      await api('PUT /v1/billing', { body })
      return { to: `${DOCUMENTS_PATH}?done=billing` }
    },
  }),
}

async function findBilling({ api }: PageRequest): Promise<BillingJson | undefined> {
  try {
    return await api<BillingJson>('GET /v1/billing')
  } catch (error) {
    if (error instanceof Fault && error.code === 'not_found') return undefined
    throw error
  }
}

function statementForm({ submission }: PageRequest, month: string): Html {
  const fields = formFields('statement', submission)
  return html`<h2>Monthly statement</h2>${form({
    act: 'statement',
    submit: 'Issue statement',
    fields: [
      fields.text({ name: 'month', label: 'Month (UTC)', value: month, size: 8, required: true }),
      fields.text({
        name: 'wallet',
        label: 'Wallet',
        hint: 'Leave empty for the keys of your account. Linked wallets have their own statements.',
        max: 42,
      }),
    ],
  })}<h2>Issued documents</h2>`
}

function billingForm({ submission }: PageRequest, billing: BillingJson | undefined): Html {
  const fields = formFields('billing', submission)
  const valueOf = (name: keyof BillingJson) => billing?.[name] ?? ''
  const text = (name: keyof BillingJson, label: string, hint?: string) =>
    fields.text({ name, label, value: valueOf(name), ...(hint !== undefined && { hint }) })
  return html`<h2 id="billing">Billing details</h2>${form({
    act: 'billing',
    submit: 'Save',
    fields: [
      fields.text({
        name: 'legal_name',
        label: 'Legal name',
        value: valueOf('legal_name'),
        required: true,
      }),
      fields.text({
        name: 'email',
        label: 'Email for invoices',
        type: 'email',
        value: valueOf('email'),
        required: true,
      }),
      fields.text({
        name: 'country',
        label: 'Country',
        hint: 'Two letters, such as DE (ISO 3166-1).',
        value: valueOf('country'),
        size: 4,
        max: 2,
        required: true,
      }),
      text('address', 'Address'),
      text('registration', 'Company registration number'),
      text('tax_id', 'VAT identifier', 'Begins with the country, such as DE136695976.'),
    ],
  })}`
}
