import { z } from 'zod'
import { type Clock, dayName } from '../../../../core/clock.ts'
import { findCreditsAccount } from '../../../../core/identity/sub-keys.ts'
import { csvLine } from '../../../../core/ledger/export/csv.ts'
import { dollars, json } from '../../../../core/money.ts'
import { readCallBalances } from '../../../../core/usage/call-balances.ts'
import {
  CALL_OUTCOMES,
  type CallListPage,
  type CallListQuery,
  type CallListRow,
  type ListedOutcome,
  listCalls,
  walletsOf,
} from '../../../../core/usage/call-list.ts'
import { showUsage } from '../../../../core/usage/usage-view.ts'
import type { CallDeps } from '../../../rest/account/calls.ts'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { dayBounds } from '../../../rest/days.ts'
import { type ListPage, readCursor, writeCursor } from '../../../rest/paging.ts'
import { filterBar, periodFilters, selectFilter, textFilter } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import {
  alignedFormatter,
  formatCount,
  formatDuration,
  formatTime,
  usageText,
} from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, type PageRequest, page, requireSession } from '../../page.ts'
import { type Column, cardTable, pager, timeAgo, withQuery } from '../../table.ts'

const PAGE_SIZE = 50
/** Rows of a CSV file. */
const CSV_MAX = 10_000
/** Passes of a filter for a file; together they look at about ten million calls. */
const CSV_PASSES = 20
/** Calls that a filter looks at for each row that fits. */
const SEARCHED_BY_ROW = 50

const OUTCOME_TEXTS: Readonly<Record<ListedOutcome, string>> = {
  paid: 'Paid',
  free: 'Free',
  failed: 'Failed, not charged',
  pending: 'Pending',
}
const BADGES: Readonly<Record<ListedOutcome, string>> = {
  paid: 'good',
  free: 'good',
  failed: 'fair',
  pending: '',
}

const FILTERS = {
  key: z.string().max(40).default(''),
  outcome: z.enum(['', ...CALL_OUTCOMES]).default(''),
  service: z.string().trim().max(100).default(''),
  from: optionalDay,
  to: optionalDay,
}
const Filters = z.object(FILTERS)
type Filters = z.infer<typeof Filters>
const Query = z.object({ ...FILTERS, cursor: z.string().max(500).optional() })
/** Position after a call, with the balance before it if the list shows balances. */
const Cursor = z.tuple([z.iso.datetime(), z.uuid(), z.int().nullable()])

export interface CallListDeps extends CallDeps {
  readonly clock: Clock
}

/** `/account/calls`: every call of an account, also free and failed ones, and its CSV. */
export const callListPages = (deps: CallListDeps): readonly AnyPage[] => [
  page('/account/calls', {
    query: Query,
    render: async (request) => {
      const keys = await request.api<ListPage<KeyJson>>('GET /v1/keys', { query: { limit: '100' } })
      const agents = keys.data.filter(({ role }) => role === 'agent')
      const list = await readPage(deps, request, agents)
      return {
        title: 'Calls',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Calls</h1><p class="lead">Every call of your keys, newest first, also free
and failed ones. Failed calls are not charged.</p>${filters(agents, request.query)}${
          list.rows.length === 0
            ? emptyState(...emptyText(request.query, list.searchedTo))
            : callTable(list)
        }${pager('/account/calls', request.query, list.next)}${
          (list.rows.length > 0 || list.searchedTo !== undefined) && csvLink(request.query)
        }`,
      }
    },
  }),
  page('/account/calls.csv', {
    query: Filters,
    render: async (request) => {
      const { clock } = deps
      const rows = await readFile(deps, request)
      const text = [CSV_HEADER, ...rows.map(csvCells)].map(csvLine).join('')
      return { file: `calls-${dayName(clock.now())}.csv`, type: 'text/csv', text }
    },
  }),
]

interface CallList {
  readonly rows: readonly CallListRow[]
  /** Undefined if rows are left out in between, or are paid from several balances. */
  readonly balances: Awaited<ReturnType<typeof readCallBalances>> | undefined
  readonly next: string | null
  /** Time up to which a filter has looked for matches, if it has not looked at all calls. */
  readonly searchedTo: string | undefined
}

async function readPage(
  deps: CallDeps,
  request: PageRequest<z.infer<typeof Query>>,
  keys: readonly KeyJson[],
): Promise<CallList> {
  const { query } = request
  const [at, id, before = null] = readCursor(query.cursor, Cursor) ?? []
  const { rows: found, searchedTo } = await readRows(deps, request, query, {
    limit: PAGE_SIZE + 1,
    after: at === undefined ? undefined : [at, id!],
  })
  const rows = found.slice(0, PAGE_SIZE)
  const mainKey = balanceKey(keys, query)
  const after = before === null ? undefined : { call: id!, before: BigInt(before) }
  const isContinued = id === undefined || after !== undefined
  const { principals } = requireSession(request)
  const balances =
    mainKey && isContinued
      ? await readCallBalances(
          deps.pool,
          await findCreditsAccount(deps.pool, principals, mainKey.key_id),
          rows.map((row) => row.id),
          after,
        )
      : undefined
  const next = nextCursor(found, balances) ?? (searchedTo && writeCursor([...searchedTo, null]))
  return { rows, balances, next, searchedTo: searchedTo?.[0] }
}

/** Position after the last row of a page, if there are more. */
function nextCursor(found: readonly CallListRow[], balances: CallList['balances']): string | null {
  const last = found.length > PAGE_SIZE ? found[PAGE_SIZE - 1] : undefined
  if (!last) return null
  const position = balances?.get(last.id)
  return writeCursor([last.at.toISOString(), last.id, position ? json(position.before) : null])
}

/** Main key whose balance the list shows: the chosen or the only one, and all its calls. */
function balanceKey(keys: readonly KeyJson[], query: Filters): KeyJson | undefined {
  if (query.outcome !== '' || query.service !== '' || query.to !== undefined) return undefined
  const mainKeys = keys.filter(({ parent }) => parent === null)
  if (query.key === '') return mainKeys.length === 1 ? mainKeys[0] : undefined
  return mainKeys.find(({ key_id: id }) => id === query.key)
}

/** Reads the calls of a file, page by page, because a filter looks at a limited number for each. */
async function readFile(deps: CallDeps, request: PageRequest<Filters>): Promise<CallListRow[]> {
  const rows: CallListRow[] = []
  let after: CallListQuery['after']
  for (let pass = 0; pass < CSV_PASSES && rows.length < CSV_MAX; pass++) {
    const range = { limit: CSV_MAX - rows.length, after }
    const page = await readRows(deps, request, request.query, range)
    rows.push(...page.rows)
    if (page.searchedTo === null) break
    after = page.searchedTo
  }
  return rows
}

/** @throws Fault `not_found` for keys of other accounts */
async function readRows(
  { pool, calls }: CallDeps,
  request: PageRequest,
  query: Filters,
  { limit, after }: Pick<CallListQuery, 'limit' | 'after'>,
): Promise<CallListPage> {
  const { principals } = requireSession(request)
  if (query.key !== '') await request.api('GET /v1/keys/{id}', { params: { id: query.key } })
  await calls.flush() // calls that this process has just recorded
  return listCalls(pool, query.key === '' ? principals : [query.key], {
    limit,
    after,
    searchedMax: SEARCHED_BY_ROW * Math.max(limit, PAGE_SIZE),
    wallets: query.key === '' ? await walletsOf(pool, principals) : [],
    outcome: query.outcome || undefined,
    service: query.service || undefined,
    ...dayBounds(query),
  })
}

const filters = (keys: readonly KeyJson[], query: Filters): Html =>
  filterBar('/account/calls', [
    selectFilter('key', 'Key', keyOptions(keys, query.key), query.key),
    selectFilter('outcome', 'Outcome', { '': 'All', ...OUTCOME_TEXTS }, query.outcome),
    textFilter('service', 'Service', query.service, 8),
    periodFilters(query.from, query.to),
  ])

const keyOptions = (keys: readonly KeyJson[], chosen: string) => ({
  '': 'All keys',
  ...(chosen === '' ? {} : { [chosen]: chosen }),
  ...Object.fromEntries(keys.map(({ key_id: id, name }) => [id, name ?? id])),
})

function emptyText(query: Filters, to: string | undefined): [string, Html] {
  if (to !== undefined) {
    const text = `No calls of this page, back to ${formatTime(to)}, match these filters.`
    return [text, html`<p>The next page goes on with older calls.</p>`]
  }
  return Object.values(query).some(Boolean)
    ? ['No calls match these filters.', html`<p><a href="/account/calls">Show all calls</a></p>`]
    : ['No calls yet.', html`<p><a href="/services">Browse services</a></p>`]
}

const csvLink = (query: Filters): Html => {
  const { key, outcome, service, from, to } = query
  const path = withQuery('/account/calls.csv', { key, outcome, service, from, to })
  return html`<p><a class="button plain" href="${path}">Download CSV</a>
<span class="small muted">The newest ${formatCount(CSV_MAX)} calls of these filters.</span></p>`
}

function callTable({ rows, balances }: CallList): Html {
  const formatPrice = alignedFormatter(rows.map(({ charged }) => charged))
  const known = [...(balances?.values() ?? [])].map(({ balance }) => balance)
  const formatBalance = alignedFormatter(known)
  const balance: Column<CallListRow> = {
    head: 'Balance after it',
    number: true,
    cell: ({ id, source }) => {
      const after = source === 'credits' && balances?.get(id)
      return after && formatBalance(after.balance)
    },
  }
  return cardTable(
    'Calls',
    [
      {
        head: 'Time',
        noWrap: true,
        cell: ({ id, at, keyId }) =>
          keyId === null ? timeAgo(at) : html`<a href="/account/calls/${id}">${timeAgo(at)}</a>`,
      },
      {
        head: 'Endpoint',
        cell: ({ endpoint, usage }) =>
          html`<code>${endpoint}</code>${
            usage && html` <span class="small muted">${usageText(showUsage(usage))}</span>`
          }`,
      },
      { head: 'Outcome', cell: outcomeCell },
      { head: 'Key', cell: ({ keyName, keyId }) => keyName ?? keyId ?? 'wallet, without a key' },
      { head: 'Latency', number: true, cell: ({ latencyMs }) => formatDuration(latencyMs) },
      { head: 'Price', number: true, cell: ({ charged }) => formatPrice(charged) },
      ...(balances ? [balance] : []),
    ],
    rows,
  )
}

const outcomeCell = ({ outcome, refunded, source, status, reason }: CallListRow): Html => {
  const text = refunded > 0n ? 'Refunded' : OUTCOME_TEXTS[outcome]
  const by = outcome === 'paid' && source === 'x402' && ' by x402'
  const kind = refunded > 0n ? 'fair' : BADGES[outcome]
  return html`<span class="badge ${kind}">${text}${by}</span> <span class="small muted">${status}${
    reason !== null && ` ${reason}`
  }</span>`
}

const CSV_HEADER = [
  'at_utc',
  'call_id',
  'key_id',
  'endpoint',
  'outcome',
  'paid_from',
  'charged_usd',
  'refunded_usd',
  'status',
  'reason',
  'latency_ms',
] as const

const csvCells = (row: CallListRow): readonly string[] => [
  row.at.toISOString(),
  row.id,
  row.keyId ?? '',
  row.endpoint,
  row.outcome,
  row.source,
  dollars(row.charged),
  dollars(row.refunded),
  String(row.status),
  row.reason ?? '',
  String(row.latencyMs),
]
