import type { Pool } from 'pg'
import { z } from 'zod'
import { dayStart, daysBefore } from '../../../../core/clock.ts'
import { creditsOfKey } from '../../../../core/identity/children.ts'
import { type HistoryRow, readHistory } from '../../../../core/usage/history.ts'
import { PLACE } from '../../../rest/account/history.ts'
import type { KeyJson } from '../../../rest/account/keys.ts'
import { type Listed, readCursor, writeCursor } from '../../../rest/paging.ts'
import { ACCOUNT } from '../../areas.ts'
import { filterField, filters, optionsOf } from '../../form.ts'
import { alike, instant } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, type PageRequest, page, personOn } from '../../page.ts'
import { address, cardTable, pager } from '../../table.ts'

const PAGE = 60

/** What happened to credits, in words for people; other events keep their names. */
const EVENT_WORDS: Readonly<Record<string, string>> = {
  'call.settled': 'call',
  'call.reserved': 'held for a call',
  'call.released': 'given back: the call failed',
  'call.expired': 'given back: the call was lost',
  'call.reversed': 'refunded',
  'credits.purchased': 'top-up',
  'credits.granted': 'gift',
  'credits.transferred': 'transfer',
  'credits.lapsed': 'lapsed',
  'external.refunded': 'refunded: the seller took nothing',
  'receipt.vanished': 'payment vanished from the chain',
}

const KINDS: Readonly<Record<string, string>> = {
  '': 'everything',
  'call.settled': 'calls that were charged',
  'credits.purchased,credits.granted,credits.transferred': 'top-ups and transfers',
  'call.released,call.expired,call.reversed,external.refunded': 'what was given back',
}

const dayText = z.union([z.iso.date(), z.literal('')]).default('')

const Query = z.object({
  key: z.string().max(40).default(''),
  kind: z
    .string()
    .refine((text) => Object.hasOwn(KINDS, text), 'none of the kinds')
    .default(''),
  service: z.string().trim().max(100).default(''),
  from: dayText,
  to: dayText,
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

/** `/account/history`: every movement of the credits of a key. */
export const historyPage = ({ pool }: { readonly pool: Pool }): AnyPage =>
  page({
    path: '/account/history',
    person: true,
    query: Query,
    show: async (request) => {
      const keys = await request.ask<Listed<KeyJson>>('GET /v1/keys', { query: { limit: '100' } })
      const roots = keys.data.filter(({ parent, role }) => parent === null && role === 'agent')
      const query = { ...request.query, key: request.query.key || (roots[0]?.key_id ?? '') }
      const frame = (main: Html) => ({
        title: 'History',
        area: ACCOUNT,
        tab: 'History',
        main: html`<h1>History</h1><p class="lead">What happened to the credits of a key, the
newest first. A call is one line: what it cost, or that it cost nothing.</p>
${main}`,
      })
      if (query.key === '') return frame(empty('There are no keys yet, and so no history.'))
      return frame(html`${filterForm(roots, query)}${await movements(pool, request, query)}`)
    },
  })

function filterForm(roots: readonly KeyJson[], query: Query): Html {
  const names = Object.fromEntries(roots.map((key) => [key.key_id, key.name ?? key.key_id]))
  const keys = { ...(Object.hasOwn(names, query.key) ? {} : { [query.key]: query.key }), ...names }
  return filters('/account/history', [
    filterField(
      'key',
      'Key',
      html`<select id="filter-key" name="key">${optionsOf(keys, query.key)}</select>`,
    ),
    filterField(
      'kind',
      'What',
      html`<select id="filter-kind" name="kind">${optionsOf(KINDS, query.kind)}</select>`,
    ),
    filterField(
      'service',
      'Service',
      html`<input id="filter-service" name="service" value="${query.service}" size="8">`,
    ),
    filterField(
      'from',
      'From',
      html`<input type="date" id="filter-from" name="from" value="${query.from}">`,
    ),
    filterField('to', 'To', html`<input type="date" id="filter-to" name="to" value="${query.to}">`),
  ])
}

async function movements(pool: Pool, request: PageRequest<Query>, query: Query): Promise<Html> {
  const { principals } = personOn(request)
  const { key, kind, service, from, to, cursor } = query
  const credits = await creditsOfKey(pool, principals, key)
  const after = readCursor(cursor, PLACE)
  const rows = await readHistory(pool, credits, {
    limit: PAGE + 1,
    after,
    events: kind === '' ? undefined : kind.split(','),
    service: service || undefined,
    from: from === '' ? undefined : new Date(from),
    to: to === '' ? undefined : daysBefore(dayStart(new Date(to)), -1), // to its end
  })
  const shown = rows.slice(0, PAGE)
  const last = rows.length > PAGE ? shown.at(-1) : undefined
  if (shown.length === 0) return empty('Nothing moved, or nothing of this kind.')
  const next = last ? writeCursor([last.id, last.phase, last.kind]) : null
  const known = outcomes(shown, after?.[0])
  return html`${historyTable(known, key)}${pager('/account/history', query, next)}`
}

/**
 * One row for each call: of one that is over, the hold before it is no news.
 * @param before the id of the row before the first one
 */
const outcomes = (rows: readonly HistoryRow[], before: string | undefined) =>
  rows.filter(({ event, id }, i) => event !== 'call.reserved' || id !== (rows[i - 1]?.id ?? before))

/** What a row did to the credits: of a call that is over, with its hold. */
function netOf({ event, change, charged }: HistoryRow): bigint {
  if (event === 'call.settled') return -(charged ?? 0n)
  return GIVEN_BACK.has(event) ? 0n : change
}

const GIVEN_BACK: ReadonlySet<string> = new Set(['call.released', 'call.expired'])

function historyTable(rows: readonly HistoryRow[], key: string): Html {
  const write = alike(rows.map(netOf))
  return cardTable(
    'History',
    [
      { head: 'When', whole: true, cell: ({ at }) => instant(at) },
      {
        head: 'What',
        cell: (row) =>
          row.endpoint === null
            ? what(row)
            : html`<a href="${address(`/account/calls/${row.id}`, { key })}">${what(row)}</a>`,
      },
      { head: 'For', cell: detail },
      { head: 'Credits', number: true, cell: (row) => signed(netOf(row), write) },
    ],
    rows,
  )
}

const what = ({ event }: HistoryRow): string => EVENT_WORDS[event] ?? event

const detail = (row: HistoryRow): Html =>
  html`${row.endpoint !== null && html`<code>${row.endpoint}</code> `}${
    row.otherKey !== null && html`<code>${row.otherKey}</code> `
  }${row.transaction !== null && html`<code>${row.transaction}</code> `}${
    row.reason !== null && html`<span class="muted">${row.reason}</span>`
  }`

const signed = (change: bigint, write: (amount: bigint) => string): string =>
  `${change > 0n ? '+' : ''}${write(change)}`
