import type { Pool } from 'pg'
import { z } from 'zod'
import { dayStart, daysBefore } from '../../../../core/clock.ts'
import { listMainKeys, type MainKey } from '../../../../core/identity/main-keys.ts'
import { findCreditsAccount } from '../../../../core/identity/sub-keys.ts'
import { type HistoryRow, readHistory } from '../../../../core/usage/history.ts'
import { historyCursor, positionOf } from '../../../rest/account/history.ts'
import { readCursor, writeCursor } from '../../../rest/paging.ts'
import { documentPath } from '../../documents-table.ts'
import { filterBar, periodFilters, selectFilter, textFilter } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import { alignedFormatter, usageText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, type PageRequest, page, requireSession } from '../../page.ts'
import { cardTable, pager, shortHash, timeAgo, withQuery } from '../../table.ts'

const PAGE_SIZE = 60

/** Texts by ledger event; other events show their name. */
const EVENT_TEXTS: Readonly<Record<string, string>> = {
  'call.settled': 'call',
  'call.reserved': 'reserved for a call',
  'call.released': 'released: the call failed',
  'call.expired': 'released: the call expired',
  'call.reversed': 'refunded',
  'credits.purchased': 'top-up',
  'credits.granted': 'free credits',
  'credits.transferred': 'transfer',
  'credits.lapsed': 'expired',
  'external.refunded': 'refunded: the seller did not collect the payment',
  'receipt.vanished': 'payment removed by a chain reorganization',
}

const KINDS: Readonly<Record<string, string>> = {
  '': 'All',
  'call.settled': 'Charged calls',
  'credits.purchased,credits.granted,credits.transferred': 'Top-ups and transfers',
  'call.released,call.expired,call.reversed,external.refunded': 'Refunds and released reservations',
}

const VIEWS = { calls: 'One line per call', movements: 'Every ledger entry' } as const

const Query = z.object({
  key: z.string().max(40).default(''),
  view: z.enum(['calls', 'movements']).default('calls'),
  kind: z
    .string()
    .refine((text) => Object.hasOwn(KINDS, text), 'is not one of the options')
    .default(''),
  service: z.string().trim().max(100).default(''),
  from: optionalDay,
  to: optionalDay,
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

/** `/account/history`: ledger entries that changed the credits of a key. */
export const historyPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page('/account/history', {
    query: Query,
    render: async (request) => {
      const roots = await listMainKeys(pool, requireSession(request).principals)
      const query = { ...request.query, key: request.query.key || (roots[0]?.id ?? '') }
      const frame = (main: Html) => ({
        title: 'History',
        tabs: ACCOUNT_TABS,
        main: html`<h1>History</h1><p class="lead">All changes to the credits of a key, newest
first. Free and failed calls, which change none, are among the
<a href="/account/calls">calls</a>.</p>
${main}`,
      })
      if (query.key === '') return frame(emptyState('No history yet: create a key first.'))
      return frame(html`${historyFilters(roots, query)}${await movements(pool, request, query)}`)
    },
  })

function historyFilters(roots: readonly MainKey[], query: Query): Html {
  const names = Object.fromEntries(roots.map(({ id, name }) => [id, name ?? id]))
  const options = {
    ...(Object.hasOwn(names, query.key) ? {} : { [query.key]: query.key }),
    ...names,
  }
  return filterBar('/account/history', [
    selectFilter('key', 'Key', options, query.key),
    selectFilter('view', 'Show', VIEWS, query.view),
    selectFilter('kind', 'Event', KINDS, query.kind),
    textFilter('service', 'Service', query.service, 8),
    periodFilters(query.from, query.to),
  ])
}

async function movements(pool: Pool, request: PageRequest<Query>, query: Query): Promise<Html> {
  const { principals } = requireSession(request)
  const { key, view, kind, service, from, to, cursor } = query
  const credits = await findCreditsAccount(pool, principals, key)
  const rows = await readHistory(pool, credits, {
    view,
    limit: PAGE_SIZE + 1,
    after: readCursor(cursor, historyCursor),
    events: kind === '' ? undefined : kind.split(','),
    service: service || undefined,
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : daysBefore(dayStart(new Date(to)), -1), // end of the day
  })
  const shown = rows.slice(0, PAGE_SIZE)
  const last = rows.length > PAGE_SIZE ? shown.at(-1) : undefined
  if (shown.length === 0) return emptyState('No entries match these filters.')
  const next = last ? writeCursor(positionOf(last)) : null
  return html`${historyTable(shown, key)}${pager('/account/history', query, next)}`
}

function historyTable(rows: readonly HistoryRow[], key: string): Html {
  const format = alignedFormatter(rows.map(({ change }) => change))
  const formatBalance = alignedFormatter(rows.map(({ balance }) => balance ?? 0n))
  return cardTable(
    'History',
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      {
        head: 'Event',
        cell: (row) =>
          row.endpoint === null
            ? eventText(row)
            : html`<a href="${withQuery(`/account/calls/${row.id}`, { key })}">
${eventText(row)}</a>`,
      },
      { head: 'Details', cell: details },
      { head: 'Credits', number: true, cell: ({ change }) => signed(change, format) },
      ...(rows[0]!.balance === null
        ? []
        : [
            {
              head: 'Balance',
              number: true,
              cell: ({ balance }: HistoryRow) => formatBalance(balance ?? 0n),
            },
          ]),
    ],
    rows,
  )
}

const eventText = ({ event }: HistoryRow): string => EVENT_TEXTS[event] ?? event

const details = (row: HistoryRow): Html =>
  html`${row.endpoint !== null && html`<code>${row.endpoint}</code> `}${
    row.usage !== null && html`<span class="muted">${usageText(row.usage)}</span> `
  }${
    row.otherKey !== null && html`<code>${row.otherKey}</code> `
  }${row.transaction !== null && html`${shortHash(row.transaction)} `}${
    row.reason !== null && html`<span class="muted">${row.reason}</span> `
  }${
    row.event === 'credits.purchased' &&
    html`<a href="${documentPath('purchase', row.id)}">Receipt</a>`
  }`

const signed = (change: bigint, format: (amount: bigint) => string): string =>
  `${change > 0n ? '+' : ''}${format(change)}`
