import type { Transaction } from 'agenthub/plugin'
import type { Where } from './where.ts'

/** Conditions of a count; the instant among their values is not part of the cache key. */
interface CountQuery extends Where {
  readonly table: 'tender' | 'change'
  /** Database and snapshot of the count, see `envelope.ts`. */
  readonly edition: string
  readonly now: Date
}

interface CachedCount {
  readonly total: number
  /** Instants, in ms, between which the total is valid. */
  readonly from: number
  readonly until: number
}

const COUNTS_MAX = 1_000
const counts = new Map<string, CachedCount>()

/** Cached until the next tender closes, the day ends or a snapshot closes: counting is slow. */
export async function countOf(transaction: Transaction, query: CountQuery): Promise<number> {
  const { table, text, values, edition, now } = query
  const others = values.filter((value) => value !== now)
  const key = JSON.stringify([table, text, others, edition])
  const known = counts.get(key)
  const instant = now.getTime()
  if (known && known.from <= instant && instant < known.until) return known.total
  const { rows } = await transaction.query<{ total: bigint }>(
    `SELECT count(*) AS total FROM ${table} WHERE ${text}`,
    values,
  )
  const total = Number(rows[0]?.total ?? 0n)
  if (counts.size >= COUNTS_MAX) counts.clear()
  counts.set(key, { total, from: instant, until: await nextClosing(transaction, now) })
  return total
}

const DAY = 86_400_000

async function nextClosing(transaction: Transaction, now: Date): Promise<number> {
  const { rows } = await transaction.query<{ at: Date | null }>(
    `SELECT min(closes_at) AS at FROM tender
     WHERE state = 'timed' AND score >= 200 AND closes_at > $1 AND closes_at < 'infinity'`,
    [now],
  )
  const dayEnds = (Math.floor(now.getTime() / DAY) + 1) * DAY
  return Math.min(rows[0]?.at?.getTime() ?? dayEnds, dayEnds)
}
