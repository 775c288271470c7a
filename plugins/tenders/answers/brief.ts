import type { Transaction } from 'agenthub/plugin'
import type { Change } from '../domain/change.ts'
import type { Tender } from '../domain/tender.ts'
import { changeOf, OFFICIAL } from './changes.ts'
import type { Standing } from './envelope.ts'
import { itemOf } from './item.ts'

const WEEK = 7 * 86_400_000
/** Of each list; `counts` tells how many there are. */
const MOST = 100

/** What to do today: what is new, what has changed, what closes within seven days. */
export async function brief(transaction: Transaction, { day, ojs, stale }: Standing, now: Date) {
  const until = new Date(now.getTime() + WEEK)
  const published = await transaction.query<{ item: Tender; total: bigint }>(
    `SELECT i.item, p.total FROM (
       SELECT id, score, number, count(*) OVER () AS total FROM tender
       WHERE called_on @> ARRAY[$1::date] AND score >= 200
       ORDER BY score DESC, number LIMIT $2) p
     JOIN tender_item i USING (id) ORDER BY p.score DESC, p.number`,
    [day, MOST],
  )
  const changed = await transaction.query<{
    item: Change
    detected_at: Date
    score: number
    total: bigint
  }>(
    `SELECT i.item, p.detected_at, p.score, p.total FROM (
       SELECT id, detected_at, score, count(*) OVER () AS total FROM change
       WHERE published_on = $1 AND score >= 200 AND verification = ANY ($2)
       ORDER BY score DESC, id LIMIT $3) p
     JOIN change_item i USING (id) ORDER BY p.score DESC, id`,
    [day, OFFICIAL, MOST],
  )
  const closing = await transaction.query<{ item: Tender; total: bigint }>(
    `WITH near AS MATERIALIZED (
       SELECT id, score, number, CASE WHEN closes_first > $1 THEN closes_first
         ELSE (SELECT min(d) FROM unnest(candidates) d WHERE d > $1) END AS next
       FROM tender
       WHERE state = 'timed' AND closes_at > $1 AND closes_at < 'infinity' AND score >= 200
         AND first_on <= $3 AND closes_first <= $2
     ), page AS (
       SELECT *, count(*) OVER () AS total FROM near WHERE next <= $2
       ORDER BY next, score DESC, number LIMIT $4)
     SELECT item, total FROM page JOIN tender_item USING (id) ORDER BY next, score DESC, number`,
    [now, until, now.toISOString().slice(0, 10), MOST],
  )
  const totalOf = (rows: readonly { readonly total: bigint }[]): number =>
    Number(rows[0]?.total ?? 0n)
  return {
    date: day,
    ojs,
    newly_published: published.rows.map(({ item }) => itemOf(item, now)),
    verified_changes: changed.rows.map(changeOf),
    closing_within_7_days: closing.rows.map(({ item }) => itemOf(item, now)),
    counts: {
      newly_published: totalOf(published.rows),
      verified_changes: totalOf(changed.rows),
      closing_within_7_days: totalOf(closing.rows),
    },
    evaluated_at: now.toISOString(),
    window: { from: now.toISOString(), to: until.toISOString() },
    stale,
  }
}
