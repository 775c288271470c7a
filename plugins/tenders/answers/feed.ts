import type { Transaction } from 'agenthub/plugin'
import type { Label, Status } from '../domain/enums.ts'
import { LABEL_MIN, SCORE_MIN } from '../domain/relevance.ts'
import type { Tender } from '../domain/tender.ts'
import { countOf } from './count.ts'
import type { Standing } from './envelope.ts'
import { itemOf } from './item.ts'
import type { FeedQuery } from './query.ts'

/** What belongs to a tender that can still be won, or is to come. */
const CALLS = ['planning', 'consultation', 'competition'] as const
const LIVE: ReadonlySet<string> = new Set(['live', 'open', 'planned'])

/** Which rows have a status at the instant `$1`; `live` is what is asked for by default. */
const STATUS: Readonly<Record<Status | 'live', string>> = {
  // One expression, so that pages are read in the order of an index, and not all of it sorted.
  live: "CASE state WHEN 'planned' THEN true WHEN 'timed' THEN closes_at > $1 ELSE false END",
  planned: "state = 'planned'",
  open: "state = 'timed' AND closes_at > $1",
  closed: "state = 'timed' AND closes_at <= $1",
  suspended: "state = 'suspended'",
  cancelled: "state = 'cancelled'",
  awarded: "state = 'awarded'",
  unsuccessful: "state = 'unsuccessful'",
}

const TENTHS = 10

/** The tenders that a query asks for, best first, and how many there are in all. */
export async function feed(
  transaction: Transaction,
  query: FeedQuery,
  { edition }: Standing,
  now: Date,
) {
  const { text, values } = conditionsOf(query, now)
  const total = await countOf(transaction, { table: 'tender', text, values, edition, now })
  const status = statusOf(query)
  const isLive = status !== undefined && LIVE.has(status) // all others have no deadline to come
  const { rows } = await transaction.query<{ item: Tender }>(
    isLive ? liveSql(text, values.length) : pageSql(text, values.length),
    [...values, query.limit, query.offset],
  )
  return { total, items: rows.map(({ item }) => itemOf(item, now)) }
}

const pageSql = (text: string, count: number): string => `
  SELECT i.item FROM (
    SELECT id, score, number FROM tender WHERE ${text}
    ORDER BY score DESC, number LIMIT $${count + 1} OFFSET $${count + 2}) p
  JOIN tender_item i USING (id) ORDER BY p.score DESC, p.number`

/** Only those that may be on the page are asked for their next deadline, which orders equals. */
const liveSql = (text: string, count: number): string => `
  WITH last AS (
    SELECT score FROM tender WHERE ${text}
    ORDER BY score DESC LIMIT 1 OFFSET $${count + 1}::integer + $${count + 2}::integer - 1
  ), best AS MATERIALIZED (
    SELECT id, score, number FROM tender
    WHERE ${text} AND score >= coalesce((SELECT score FROM last), 0)
    ORDER BY score DESC, number
  ), page AS (
    SELECT b.*, (SELECT min(d) FROM unnest(t.deadlines) d WHERE d > $1) AS next
    FROM best b JOIN tender t USING (id)
    ORDER BY score DESC, next NULLS LAST, number LIMIT $${count + 1} OFFSET $${count + 2})
  SELECT i.item FROM page p JOIN tender_item i USING (id)
  ORDER BY p.score DESC, p.next NULLS LAST, p.number`

/** Conditions on `tender`; the first value is the instant, the second its day. */
function conditionsOf(query: FeedQuery, now: Date): { text: string; values: unknown[] } {
  const values: unknown[] = [now, now.toISOString().slice(0, 10)]
  const parts = ['$1::timestamptz IS NOT NULL', 'first_on <= $2', 'score >= 200']
  const add = (condition: (name: string) => string, value: unknown): void => {
    values.push(value)
    parts.push(condition(`$${values.length}`))
  }
  const { label, minScore, country, cpvPrefix, kind } = query
  const least = Math.max(SCORE_MIN, label ? LABEL_MIN[label] : 0, minScore ?? 0)
  const above = label && ABOVE[label]
  if (least > SCORE_MIN) add((value) => `score >= ${value}`, Math.ceil(least * TENTHS))
  if (above !== undefined) add((value) => `score < ${value}`, above * TENTHS)
  if (country) add((value) => `countries @> ARRAY[${value}::text]`, country)
  if (cpvPrefix) add((value) => `cpv @> ARRAY[${value}::text]`, cpvPrefix)
  if (kind) add((value) => `kind = ${value}`, kind)
  else if (!query.status) add((value) => `kind = ANY (${value})`, CALLS)
  const status = statusOf(query)
  if (status) parts.push(STATUS[status])
  return { text: parts.join(' AND '), values }
}

const ABOVE: Readonly<Record<Label, number | undefined>> = {
  high: undefined,
  medium: LABEL_MIN.high,
  low: LABEL_MIN.medium,
}

/** Without a status, calls are asked for that can still be won, or are to come. */
function statusOf({ kind, status }: FeedQuery): Status | 'live' | undefined {
  if (status) return status
  return kind === undefined || CALLS.some((call) => call === kind) ? 'live' : undefined
}
