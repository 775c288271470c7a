import { z } from 'zod'
import type { DecisionJson } from '../../../rest/finance/proposals.ts'
import type { ReceivablesJson } from '../../../rest/finance/receivables.ts'
import { rowMenu } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { requiredDollars } from '../../form-schemas.ts'
import { alignedColumn, formatCount, formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, timeAgo } from '../../table.ts'
import { balancePath, entryPath, reason, reasonField } from './components.ts'

const PATH = '/finance/receivables'
const ROUTE = 'POST /v1/finance/receivables/{provider}'
const provider = z.string().max(40)

/** `/finance/receivables`: debts of providers by origin, their recovery and write-off. */
export const receivablesPage = (): AnyPage =>
  page(PATH, {
    actions: {
      recover: formAction({
        fields: z.object({ provider, reason }),
        run: async ({ api }, { provider: debtor, ...body }) => {
          const params = { provider: debtor }
          const { state } = await api<DecisionJson>(`${ROUTE}/recovery`, { params, body })
          return { to: `${PATH}?done=${state === 'proposed' ? 'proposed' : 'recovered'}` }
        },
      }),
      writeOff: formAction({
        fields: z.object({
          provider,
          amount: requiredDollars.or(z.literal('')).default(''),
          reason,
        }),
        run: async ({ api }, { provider: debtor, amount, ...body }) => {
          await api(`${ROUTE}/write-off`, {
            params: { provider: debtor },
            body: { ...body, ...(amount !== '' && { amount_microdollars: amount }) },
          })
          return { to: `${PATH}?done=proposed` }
        },
      }),
    },
    notices: {
      recovered: 'Debt deducted from the earnings of the provider.',
      proposed: 'Proposed. A second person must confirm it under Adjustments.',
    },
    render: async (request) => {
      const found = await request.api<ReceivablesJson>('GET /v1/finance/receivables')
      return {
        title: 'Receivables',
        tabs: FINANCE_TABS,
        main: html`<h1>Receivables</h1><p class="lead">Refunds of calls for which the provider had
been paid. They are deducted from its later earnings before each payout, the oldest first.</p>${
          found.data.length === 0
            ? emptyState('No provider owes anything.')
            : html`<p>Total: <strong>${formatDollars(found.total_microdollars)}</strong></p>
${debtTable(found.data)}<div class="list">${found.providers.map((each) =>
                card(request, each),
              )}</div>`
        }`,
      }
    },
  })

const debtTable = (debts: ReceivablesJson['data']): Html =>
  cardTable(
    'Receivables',
    [
      { head: 'Provider', cell: (each) => html`<code>${each.provider_id}</code>` },
      { head: 'Since', noWrap: true, cell: ({ at }) => timeAgo(at) },
      { head: 'Age (days)', number: true, cell: (each) => formatCount(each.age_days) },
      {
        head: 'Origin',
        cell: ({ entry_id: id, event }) => html`<a href="${entryPath(id)}">${event}</a>`,
      },
      {
        head: 'Amount',
        number: true,
        cell: alignedColumn(debts, (each) => each.amount_microdollars),
      },
      { head: 'Open', number: true, cell: alignedColumn(debts, (each) => each.open_microdollars) },
      { head: 'Actions', cell: debtMenu },
    ],
    debts,
  )

const debtMenu = ({ provider_id: debtor, entry_id: id }: ReceivablesJson['data'][number]): Html =>
  rowMenu(`menu-${id}`, `the debt of ${debtor}`, [
    html`<a href="#${cardId(debtor)}">Deduct or write off</a>`,
    html`<a href="${entryPath(id)}">Entries</a>`,
    html`<a href="${balancePath(`liabilities:providers:${debtor}:`)}">Balance owed</a>`,
  ])

const cardId = (debtor: string): string => `debt-${debtor}`

function card(
  { submission }: PageRequest,
  { provider_id: debtor, open_microdollars: open }: ReceivablesJson['providers'][number],
): Html {
  const hidden = { provider: debtor }
  const fields = formFields('writeOff', submission, hidden)
  return html`<section class="card" id="${cardId(debtor)}"><h2>${formatDollars(
    open,
  )} owed by <code>${debtor}</code></h2>
${form({
  act: 'recover',
  submit: 'Deduct from earnings now',
  hidden,
  fields: [reasonField(formFields('recover', submission, hidden))],
})}${form({
  act: 'writeOff',
  submit: 'Write off',
  kind: 'danger',
  hidden,
  fields: [
    fields.text({
      name: 'amount',
      label: 'Amount (USD)',
      hint: 'Leave empty to write off all of it. A second person must confirm it.',
      numeric: true,
      size: 12,
    }),
    reasonField(fields),
  ],
})}</section>`
}
