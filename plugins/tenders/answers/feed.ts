import type { Transaction } from 'agenthub/plugin'
import type { Label, Status } from '../domain/enums.ts'
import { LABEL_MIN, SCORE_MIN } from '../domain/relevance.ts'
import { CALL_KINDS } from '../model.ts'
import { TENTHS } from '../store/rows.ts'
import { countOf } from './count.ts'
import type { NewestSnapshot } from './envelope.ts'
import { itemOf } from './item.ts'
import { itemsOf } from './items.ts'
import type { FeedQuery } from './query.ts'
import { type Where, where } from './where.ts'

/** Statuses with a possible future deadline: few rows, however many tenders there are. */
const LIVE: readonly Status[] = ['open', 'planned', 'unclear']

/** SQL conditions by status at the instant `$1`. */
const STATUS: Readonly<Record<Status, string>> = {
  planned: "state = 'planned' AND closes_at > $1",
  lapsed: "state = 'planned' AND closes_at <= $1",
  unclear: "state = 'unclear'",
  open: "state = 'timed' AND closes_at > $1",
  closed: "state = 'timed' AND closes_at <= $1",
  suspended: "state = 'suspended'",
  cancelled: "state = 'cancelled'",
  awarded: "state = 'awarded'",
  unsuccessful: "state = 'unsuccessful'",
}

/** Finds the tenders that match a query, best first, and their total count. */
export async function feed(
  transaction: Transaction,
  query: FeedQuery,
  at: NewestSnapshot,
  now: Date,
) {
  const { text, values } = filtersOf(query, now)
  const page = { text, values, limits: [query.limit, query.offset] }
  const live = LIVE.filter((status) => status === query.status || isLive(query))
  const { ids, total } =
    live.length > 0
      ? await livePage(transaction, page, live)
      : await settledPage(transaction, page, query.status, { ...at, now })
  const items = await itemsOf(transaction, at, 'tender', ids)
  return { total, items: ids.map((id) => itemOf(items.get(id)!, now)) }
}

/** Returns true if a query without a status includes tenders that can still be won. */
const isLive = ({ kind, status }: FeedQuery): boolean =>
  status === undefined && (kind === undefined || CALL_KINDS.has(kind))

interface PageQuery extends Where {
  /** Page size and offset. */
  readonly limits: readonly number[]
}

interface PageIds {
  readonly ids: readonly string[]
  readonly total: number
}

/** Orders equal scores by next deadline, computed only for scores on the page. */
async function livePage(
  transaction: Transaction,
  { text, values, limits }: PageQuery,
  statuses: readonly Status[],
): Promise<PageIds> {
  const [limit, offset] = [`$${values.length + 1}`, `$${values.length + 2}`]
  const rowsOf = (status: Status): string =>
    `SELECT id, score, number FROM tender WHERE ${STATUS[status]} AND ${text}`
  const { rows } = await transaction.query<{ total: bigint; id: string | null }>(
    `WITH live AS MATERIALIZED (${statuses.map(rowsOf).join(' UNION ALL ')}
     ), counted AS (
       SELECT count(*) AS total FROM live
     ), ranked AS (
       SELECT score FROM live ORDER BY score DESC LIMIT ${limit} OFFSET ${offset}
     ), bounds AS (
       SELECT max(score) AS high, min(score) AS low FROM ranked
     ), page AS (
       SELECT l.*, (SELECT min(d) FROM unnest(deadlines) d WHERE d > $1) AS next
       FROM bounds JOIN live l ON l.score BETWEEN low AND high JOIN tender USING (id)
       ORDER BY score DESC, next NULLS LAST, number LIMIT ${limit}
       OFFSET ${offset} - (SELECT count(*) FROM live JOIN bounds ON score > high))
     SELECT total, id FROM counted LEFT JOIN page ON true
     ORDER BY score DESC, next NULLS LAST, number`,
    [...values, ...limits],
  )
  const ids = rows.flatMap(({ id }) => id ?? [])
  return { ids, total: Number(rows[0]?.total ?? 0n) }
}

/** Reads tenders without a future deadline in index order, because there are many. */
async function settledPage(
  transaction: Transaction,
  { text, values, limits }: PageQuery,
  status: Status | undefined,
  { edition, now }: { readonly edition: string; readonly now: Date },
): Promise<PageIds> {
  const all = status ? `${STATUS[status]} AND ${text}` : text
  const total = await countOf(transaction, { table: 'tender', text: all, values, edition, now })
  const { rows } = await transaction.query<{ id: string }>(
    `SELECT id FROM tender WHERE ${all}
     ORDER BY score DESC, number LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
    [...values, ...limits],
  )
  return { ids: rows.map(({ id }) => id), total }
}

/** Builds the conditions on `tender`; the first value is the instant, the second its date. */
function filtersOf(query: FeedQuery, now: Date): Where {
  const { label, minScore, country, cpvPrefix, kind, status } = query
  const least = Math.max(SCORE_MIN, label ? LABEL_MIN[label] : 0, minScore ?? 0)
  const above = label && ABOVE[label]
  return where(
    ['$1::timestamptz IS NOT NULL', 'first_on <= $2', 'score >= 200'],
    [now, now.toISOString().slice(0, 10)],
    [
      ['score >= ?', least > SCORE_MIN ? Math.ceil(least * TENTHS) : undefined],
      ['score < ?', above && above * TENTHS],
      ['countries @> ARRAY[?::text]', country],
      ['cpv @> ARRAY[?::text]', cpvPrefix],
      ['kind = ?', kind],
      ['kind = ANY (?)', kind || status ? undefined : [...CALL_KINDS]],
    ],
  )
}

const ABOVE: Readonly<Record<Label, number | undefined>> = {
  high: undefined,
  medium: LABEL_MIN.high,
  low: LABEL_MIN.medium,
}
