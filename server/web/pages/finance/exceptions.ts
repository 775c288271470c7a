import { z } from 'zod'
import type { DecisionJson } from '../../../rest/finance/proposals.ts'
import type { ExceptionJson, SmallDepositsJson } from '../../../rest/finance/reconciliation.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { rowMenu } from '../../dialog.ts'
import { form, formFields, viewSwitch } from '../../form.ts'
import { optionalList } from '../../form-schemas.ts'
import { alignedColumn, formatDollars, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, definitionList, pager, shortHash, timeAgo, withQuery } from '../../table.ts'
import { entryPath, reason, reasonField } from './components.ts'
import { bulkAction, kindOf, triage } from './exception-triage.ts'
import { smallDepositForms, smallDepositsAction } from './small-deposits.ts'
import { transferPath } from './wallet-transfers.ts'

const PATH = '/finance/exceptions'
const PAGE_SIZE = '30'

/** Decisions if the chain has more than the ledger. */
const SURPLUS_DECISIONS = {
  surplus: 'Post to suspense until the owner is known',
  identified: 'Post as credits of a key',
  explained: 'Post nothing: exceptions cancel each other out',
}
/** Decisions if the chain has less than the ledger. */
const SHORTFALL_DECISIONS = {
  shortfall: 'Post as an expense of the platform',
  explained: 'Post nothing: exceptions cancel each other out',
}

const VIEWS = { open: 'Open', small: 'Small deposits', all: 'All' }
/** Small deposits have a view of their own, so that they hide nothing. */
const FILTERS = {
  open: { state: 'open', small_deposits: 'none' },
  small: { state: 'open', small_deposits: 'only' },
  all: { state: 'all' },
}

/** `/finance/exceptions`: differences between the blockchain and the ledger. */
export const exceptionsPage = (): AnyPage =>
  page(PATH, {
    query: z.object({
      state: z.enum(['open', 'small', 'all']).default('open'),
      cursor: z.string().max(500).optional(),
    }),
    actions: {
      bulk: bulkAction,
      deposits: smallDepositsAction,
      resolve: formAction({
        fields: z.object({
          id: z.string().max(20),
          decision: z.enum(['surplus', 'shortfall', 'identified', 'explained']),
          key_id: z.string().trim().max(40).default(''),
          together: optionalList,
          reason,
        }),
        run: async ({ api }, { id, decision, key_id, together, reason: why }) => {
          const { state } = await api<DecisionJson>('POST /v1/finance/exceptions/{id}/resolve', {
            params: { id },
            body: {
              decision,
              reason: why,
              ...(decision === 'identified' && { key_id }),
              ...(decision === 'explained' && { together: together ?? [] }),
            },
          })
          return { to: `${PATH}?done=${state === 'proposed' ? 'proposed' : 'resolved'}` }
        },
      }),
    },
    notices: {
      resolved: 'Exception resolved.',
      proposed:
        'Resolution proposed: it exceeds your daily limit, so a second person must confirm.',
    },
    render: async (request) => {
      const { state, cursor } = request.query
      const found = await request.api<ListPage<ExceptionJson>>('GET /v1/finance/exceptions', {
        query: { limit: PAGE_SIZE, cursor, ...FILTERS[state] },
      })
      const small = await request.api<SmallDepositsJson>('GET /v1/finance/small-deposits')
      const open = found.data.filter(({ resolved_at: at }) => at === null)
      return {
        title: 'Exceptions',
        tabs: FINANCE_TABS,
        main: html`<h1>Exceptions</h1><p class="lead">Every minute we reconcile the ledger with the
blockchain. Unexplained differences appear here.</p>
${viewSwitch('State', VIEWS, state, (view) => withQuery(PATH, { state: view }))}${
  state !== 'all' && smallDepositForms(request, small)
}${
  state !== 'all'
    ? openExceptions(request, open)
    : found.data.length === 0
      ? emptyState('No exceptions yet.')
      : exceptionTable(found.data)
}${pager(PATH, { state, cursor }, found.next_cursor)}`,
      }
    },
  })

const openExceptions = (request: PageRequest, open: readonly ExceptionJson[]): Html =>
  open.length === 0
    ? emptyState('No open exceptions.')
    : html`${open.length > 1 && triage(open, request)}<div class="list">${open.map((each) =>
        exceptionCard(request, each),
      )}</div>`

function exceptionCard({ submission }: PageRequest, each: ExceptionJson): Html {
  const { exception_id: id, amount_microdollars: amount } = each
  const fields = formFields('resolve', submission, { id })
  const direction =
    amount > 0 ? 'more on chain than in the ledger' : 'less on chain than in the ledger'
  return html`<section class="card" id="exception-${id}"><h2>${kindOf(each.kind)}:
${formatDollars(Math.abs(amount))}</h2><p>${each.detail}</p>${definitionList({
    Number: id,
    Wallet: each.wallet,
    Difference: amount === 0 ? 'none' : `${formatDollars(Math.abs(amount))} ${direction}`,
    Transaction:
      each.transaction !== null &&
      html`${shortHash(each.transaction)}<br><a href="${transferPath(each.transaction)}">Post as
a transfer between platform wallets</a>`,
    Entry:
      each.entry_id !== null &&
      html`<a href="${entryPath(each.entry_id)}"><code>${each.entry_id}</code></a>`,
    Found: formatTime(each.found_at),
  })}<details${fields.submitted && html` open`}><summary>Resolve</summary>${form({
    act: 'resolve',
    submit: 'Resolve',
    hidden: { id },
    fields: [
      fields.select(
        { name: 'decision', label: 'Decision', required: true },
        amount > 0 ? SURPLUS_DECISIONS : SHORTFALL_DECISIONS,
      ),
      amount > 0 &&
        fields.text({
          name: 'key_id',
          label: 'Key',
          hint: 'Only for credits of a key: key_…',
          max: 40,
        }),
      fields.text({
        name: 'together',
        label: 'Related exceptions',
        hint: 'Numbers of the exceptions that cancel each other out with this one.',
        max: 500,
      }),
      reasonField(fields),
    ],
  })}</details></section>`
}

const exceptionTable = (rows: readonly ExceptionJson[]): Html =>
  cardTable(
    'Exceptions',
    [
      { head: 'Number', number: true, cell: (each) => each.exception_id },
      { head: 'Found', noWrap: true, cell: (each) => timeAgo(each.found_at) },
      { head: 'Kind', cell: ({ kind }) => kindOf(kind) },
      { head: 'Wallet', cell: ({ wallet }) => wallet },
      {
        head: 'Chain minus ledger',
        number: true,
        cell: alignedColumn(rows, (each) => each.amount_microdollars),
      },
      {
        head: 'State',
        cell: (each) =>
          each.resolution === null
            ? html`<span class="badge bad">open</span>`
            : html`${each.resolution}${each.author !== null && html` by ${each.author}`}<br>
<span class="small muted">${each.explanation ?? ''}</span>`,
      },
      {
        head: 'Entry',
        cell: ({ answer_id: id }) => id !== null && html`<a href="${entryPath(id)}">posted</a>`,
      },
      { head: 'Actions', cell: exceptionMenu },
    ],
    rows,
  )

const exceptionMenu = (each: ExceptionJson): Html =>
  rowMenu(`menu-${each.exception_id}`, `exception ${each.exception_id}`, [
    each.resolved_at === null && html`<a href="${PATH}#exception-${each.exception_id}">Resolve</a>`,
    each.entry_id !== null && html`<a href="${entryPath(each.entry_id)}">Entries</a>`,
    each.transaction !== null && html`<a href="${transferPath(each.transaction)}">Transaction</a>`,
    html`<a href="${withQuery('/finance/audit', { act: 'exception.resolve' })}">Audit log</a>`,
  ])
