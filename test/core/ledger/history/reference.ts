import type { Pool } from 'pg'
import type { Account } from '../../../../core/ledger/events.ts'

/** Effect of one entry on one account, from the view of postings. */
export interface ReferenceLine {
  readonly account: Account
  readonly shard: number
  readonly seq: bigint
  readonly bookedAt: string
  readonly valueAt: string
  readonly amount: bigint
}

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

/** Reads all postings ever made, by value date, to be summed one by one. */
export async function readReferenceLines(pool: Pool): Promise<ReferenceLine[]> {
  const { rows } = await pool.query<Omit<ReferenceLine, 'amount'> & { amount: string }>(
    `SELECT p.account, p.shard, p.seq, to_char(p.at AT TIME ZONE 'UTC', ${ISO}) AS "bookedAt",
       to_char(p.effective_at AT TIME ZONE 'UTC', ${ISO}) AS "valueAt", sum(p.amount) AS amount
     FROM ledger.posting p GROUP BY p.account, p.shard, p.seq, p.at, p.effective_at
     HAVING sum(p.amount) <> 0 ORDER BY p.effective_at, p.shard, p.seq`,
  )
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }))
}

const isBefore = (iso: string, instant: Date): boolean =>
  iso < instant.toISOString().replace('Z', '000Z')

/** Sums the postings with a value date before an instant. */
export const sumBefore = (
  facts: readonly ReferenceLine[],
  account: Account,
  instant: Date,
): bigint =>
  facts
    .filter((fact) => fact.account === account && isBefore(fact.valueAt, instant))
    .reduce((sum, { amount }) => sum + amount, 0n)

/** Selects the postings with a value date in a period, in the order of a statement. */
export const inPeriod = (
  facts: readonly ReferenceLine[],
  account: Account,
  { from, to }: { from: Date; to: Date },
): ReferenceLine[] =>
  facts.filter(
    ({ account: of, valueAt }) =>
      of === account && isBefore(valueAt, to) && !isBefore(valueAt, from),
  )

/** Returns the milliseconds around all postings, where off-by-one errors would show. */
export function instantsOf(facts: readonly ReferenceLine[]): Date[] {
  const all = new Set(facts.flatMap(({ bookedAt, valueAt }) => [bookedAt, valueAt]))
  const around = [...all].flatMap((iso) => {
    const ms = new Date(iso).getTime()
    return [ms - 1, ms, ms + 1]
  })
  return [...new Set(around)].sort((a, b) => a - b).map((ms) => new Date(ms))
}
