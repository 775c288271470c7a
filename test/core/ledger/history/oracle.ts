import type { Pool } from 'pg'
import type { Account } from '../../../../core/ledger/events.ts'

/** What one entry did to one account, as the view of postings has it. */
export interface Fact {
  readonly account: Account
  readonly shard: number
  readonly seq: bigint
  readonly bookedAt: string
  readonly valueAt: string
  readonly amount: bigint
}

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

/** All that was ever booked, by value date: to be added up one by one. */
export async function readFacts(pool: Pool): Promise<Fact[]> {
  const { rows } = await pool.query<Omit<Fact, 'amount'> & { amount: string }>(
    `SELECT p.account, p.shard, p.seq, to_char(p.at AT TIME ZONE 'UTC', ${ISO}) AS "bookedAt",
       to_char(p.effective_at AT TIME ZONE 'UTC', ${ISO}) AS "valueAt", sum(p.amount) AS amount
     FROM ledger.posting p GROUP BY p.account, p.shard, p.seq, p.at, p.effective_at
     HAVING sum(p.amount) <> 0 ORDER BY p.effective_at, p.shard, p.seq`,
  )
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }))
}

const isBefore = (iso: string, instant: Date): boolean =>
  iso < instant.toISOString().replace('Z', '000Z')

/** The sum of what has a value date before an instant. */
export const sumBefore = (facts: readonly Fact[], account: Account, instant: Date): bigint =>
  facts
    .filter((fact) => fact.account === account && isBefore(fact.valueAt, instant))
    .reduce((sum, { amount }) => sum + amount, 0n)

/** What has a value date in a period, in the order of a statement. */
export const within = (
  facts: readonly Fact[],
  account: Account,
  { from, to }: { from: Date; to: Date },
): Fact[] =>
  facts.filter(
    ({ account: of, valueAt }) =>
      of === account && isBefore(valueAt, to) && !isBefore(valueAt, from),
  )

/** The milliseconds around all that happened: where an instant may be wrong by one. */
export function instantsOf(facts: readonly Fact[]): Date[] {
  const all = new Set(facts.flatMap(({ bookedAt, valueAt }) => [bookedAt, valueAt]))
  const around = [...all].flatMap((iso) => {
    const ms = new Date(iso).getTime()
    return [ms - 1, ms, ms + 1]
  })
  return [...new Set(around)].sort((a, b) => a - b).map((ms) => new Date(ms))
}
