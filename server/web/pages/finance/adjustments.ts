import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import { decimalsOf } from '../../../../core/ledger/export/units.ts'
import { PLATFORM_ACCOUNTS } from '../../../../core/ledger/postings.ts'
import type { ActJson, DecisionJson } from '../../../rest/finance/proposals.ts'
import type { StatementJson } from '../../../rest/finance/statements.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { form, formFields } from '../../form.ts'
import { optionalDay, textOrUndefined } from '../../form-schemas.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page, requireSession } from '../../page.ts'
import { cardTable, pager, timeAgo } from '../../table.ts'
import { entryPath, reason, reasonField } from './components.ts'
import { proposalAmount, proposalText } from './proposal-text.ts'

const PATH = '/finance/adjustments'
const PAGE_SIZE = '30'
const account = z.string().trim().min(1, 'enter an account').max(300)

/** Returns true if an entry was posted with another value date than the requested one. */
const isRedated = ({ state, value_date_note: note }: DecisionJson): boolean =>
  state === 'booked' && typeof note === 'string'

const decisionAction = (decision: 'confirm' | 'decline') =>
  formAction({
    fields: z.object({ id: z.uuid(), reason }),
    run: async ({ api }, { id, reason: why }) => {
      const decided = await api<DecisionJson>(`POST /v1/finance/proposals/{id}/${decision}`, {
        params: { id },
        body: { reason: why },
      })
      return { to: `${PATH}?done=${isRedated(decided) ? 'dated' : decision}` }
    },
  })

/** `/finance/adjustments`: manual corrections, and all proposals that need a second person. */
export const adjustmentsPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ cursor: z.string().max(500).optional() }),
    actions: {
      adjust: formAction({
        fields: z.object({
          debit: account,
          credit: account,
          amount: z
            .string()
            .trim()
            .regex(/^\d{1,12}(?:\.\d{1,6})?$/, 'enter a number, such as 2.50'),
          value_date: optionalDay,
          transaction: textOrUndefined,
          key: z.string().max(100),
          reason,
        }),
        run: async ({ api }, fields) => {
          const body = { ...fields, amount: await amountOf(api, fields) }
          const decided = await api<DecisionJson>('POST /v1/finance/adjustments', { body })
          return { to: `${PATH}?done=${isRedated(decided) ? 'dated' : decided.state}` }
        },
      }),
      confirm: decisionAction('confirm'),
      decline: decisionAction('decline'),
    },
    notices: {
      booked: 'Adjustment posted.',
      dated:
        'Adjustment posted with the current date, because the month of its value date is closed. ' +
        'The entry stores the value date.',
      proposed:
        'Adjustment proposed: a second person must confirm it. Credits of agents and providers ' +
        'always need two people, other entries above your daily limit.',
      confirm: 'Proposal confirmed and posted.',
      decline: 'Proposal declined. Nothing was posted.',
    },
    render: async (request) => {
      const { cursor } = request.query
      const list = (state: 'open' | 'proposed', from?: string) =>
        request.api<ListPage<ActJson>>('GET /v1/finance/proposals', {
          query: { limit: PAGE_SIZE, state, cursor: from },
        })
      const [open, found] = await Promise.all([list('open'), list('proposed', cursor)])
      return {
        title: 'Adjustments',
        tabs: FINANCE_TABS,
        main: html`<h1>Adjustments</h1><p class="lead">Journal entries never change. Correct a
mistake with another entry, which records author and reason.</p>${
          open.data.length > 0 &&
          html`<div class="list">${open.data.map((each) => proposalCard(request, each))}</div>`
        }${adjustForm(request)}<h2>Proposals</h2>
<p class="muted">Adjustments that needed no second person are in the journal as
<a href="/finance/journal?event=balance.adjusted">balance.adjusted</a>.</p>${
          found.data.length === 0 ? emptyState('No proposals yet.') : proposalTable(found.data)
        }${pager(PATH, { cursor }, found.next_cursor)}`,
      }
    },
  })

interface AdjustmentAmount {
  readonly debit: string
  readonly amount: string
}

/** Amount in units of the account's asset. @throws Fault `validation_failed`, at the field */
async function amountOf(
  api: PageRequest['api'],
  { debit, amount }: AdjustmentAmount,
): Promise<number> {
  const { asset } = await assetOf(api, debit)
  const [whole = '', fraction = ''] = amount.split('.')
  const decimals = decimalsOf(asset)
  if (fraction.length <= decimals) return Number(whole + fraction.padEnd(decimals, '0'))
  const message = `${asset} has ${decimals === 0 ? 'no' : `at most ${decimals}`} decimals`
  throw new Fault('validation_failed', message, {
    extras: { issues: [{ path: '/amount', message }] },
  })
}

/** Asset of an account. An unknown account counts as USDC: posting then reports the error. */
const assetOf = (api: PageRequest['api'], account: string): Promise<{ readonly asset: string }> =>
  api<StatementJson>('GET /v1/finance/accounts/{account}/statement', {
    params: { account },
    query: { limit: '1' },
  }).catch((error: unknown) => {
    if (error instanceof Fault && error.status < 500) return { asset: 'USDC' }
    throw error
  })

/** Proposal with everything needed to decide it. */
function proposalCard(request: PageRequest, each: ActJson): Html {
  const { session, submission } = request
  const isOwn = each.proposed_by === requireSession({ session }).name
  const hidden = { id: each.id }
  const declining = formFields('decline', submission, hidden)
  const decline = form({
    act: 'decline',
    submit: isOwn ? 'Withdraw' : 'Decline',
    kind: 'danger',
    hidden,
    fields: [reasonField(declining)],
  })
  return html`<section class="card"><h2>Awaiting confirmation: ${proposalAmount(each)}</h2>
<p>${proposalText(each)} Proposed by ${each.proposed_by}, ${formatTime(each.proposed_at)}:
${each.reason}</p>${
    isOwn
      ? html`<p class="muted">Someone else must confirm it.</p>`
      : form({
          act: 'confirm',
          submit: 'Confirm and post',
          hidden,
          fields: [reasonField(formFields('confirm', submission, hidden))],
        })
  }<details${declining.submitted && html` open`}><summary>${
    isOwn ? 'Withdraw' : 'Decline'
  }</summary>${decline}</details></section>`
}

function adjustForm({ submission }: PageRequest): Html {
  const fields = formFields('adjust', submission)
  const key = submission?.act === 'adjust' ? submission.values['key'] : undefined
  return html`<h2 id="new">Post a correction</h2>${form({
    act: 'adjust',
    submit: 'Post correction',
    hidden: { key: key ?? `form-${randomUUID()}` },
    fields: [
      fields.text({
        name: 'debit',
        label: 'Debit',
        hint: 'Account to debit, such as expenses:bad-debt.',
        suggestions: PLATFORM_ACCOUNTS,
        max: 300,
        required: true,
      }),
      fields.text({
        name: 'credit',
        label: 'Credit',
        hint: 'Account to credit, in the same asset.',
        suggestions: PLATFORM_ACCOUNTS,
        max: 300,
        required: true,
      }),
      fields.text({
        name: 'amount',
        label: 'Amount',
        hint: 'In the asset of the accounts: 2.50 (USDC) or 10000 (GWEI).',
        numeric: true,
        size: 12,
        required: true,
      }),
      fields.text({
        name: 'value_date',
        label: 'Value date',
        type: 'date',
        hint: 'Day it belongs to, if not today. In a closed month, the current date counts.',
      }),
      fields.text({
        name: 'transaction',
        label: 'Transaction',
        hint: 'Hash of the transfer that it records, if it changes a platform wallet.',
        max: 66,
      }),
      reasonField(fields),
    ],
  })}`
}

const BADGES = { proposed: 'fair', booked: 'good', declined: '' } as const

const proposalTable = (rows: readonly ActJson[]): Html =>
  cardTable(
    'Proposals',
    [
      { head: 'Proposed', noWrap: true, cell: (each) => timeAgo(each.proposed_at) },
      {
        head: 'State',
        cell: ({ state, id, kind }) =>
          state === 'booked' && kind === 'adjustment'
            ? html`<a href="${entryPath(id)}">posted</a>`
            : html`<span class="badge ${BADGES[state]}">${
                state === 'booked' ? 'posted' : state
              }</span>`,
      },
      { head: 'What', cell: proposalText },
      { head: 'Amount', number: true, cell: proposalAmount },
      {
        head: 'Author and reason',
        cell: (each) =>
          html`${each.proposed_by}${each.decided_by !== null && html`; ${each.decided_by}`}<br>
<span class="small muted">${each.reason}</span>`,
      },
    ],
    rows,
  )
