import type { Transaction } from 'agenthub/plugin'
import { changeOf } from './changes.ts'
import type { NewestSnapshot } from './envelope.ts'
import { ENTRIES_MAX, issueOf, totalOf } from './issue.ts'
import { itemOf } from './item.ts'
import { itemsOf } from './items.ts'

const WEEK = 7 * 86_400_000

/** New tenders, official changes, and tenders that close within seven days. */
export async function brief(transaction: Transaction, at: NewestSnapshot, now: Date) {
  const { day, ojs, stale } = at
  const until = new Date(now.getTime() + WEEK)
  const { published, changed, counts } = await issueOf(transaction, at)
  const closing = await closingWithin(transaction, now, until)
  const ids = closing.map(({ id }) => id)
  const items = await itemsOf(transaction, at, 'tender', ids)
  return {
    date: day,
    ojs,
    newly_published: published.map((item) => itemOf(item, now)),
    official_changes: changed.map((row) => changeOf(row, now)),
    closing_within_7_days: ids.map((id) => itemOf(items.get(id)!, now)),
    counts: { ...counts, closing_within_7_days: totalOf(closing) },
    evaluated_at: now.toISOString(),
    window: { from: now.toISOString(), to: until.toISOString() },
    stale,
  }
}

/** Finds open tenders whose next deadline, read as early as possible, is not after `until`. */
async function closingWithin(transaction: Transaction, now: Date, until: Date) {
  const { rows } = await transaction.query<{ id: string; total: bigint }>(
    `WITH near AS MATERIALIZED (
       SELECT id, score, number, CASE WHEN closes_first > $1 THEN closes_first
         ELSE (SELECT min(d) FROM unnest(candidates) d WHERE d > $1) END AS next
       FROM tender
       WHERE state = 'timed' AND closes_at > $1 AND closes_at < 'infinity' AND score >= 200
         AND first_on <= $3 AND closes_first <= $2
     )
     SELECT id, count(*) OVER () AS total FROM near WHERE next <= $2
     ORDER BY next, score DESC, number LIMIT $4`,
    [now, until, now.toISOString().slice(0, 10), ENTRIES_MAX],
  )
  return rows
}
