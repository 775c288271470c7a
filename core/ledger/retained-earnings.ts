import type { ClientBase, Pool } from 'pg'
import { readSnapshot } from '../db/transaction.ts'
import type { Account } from './events.ts'
import type { AccountBalance } from './export/plan.ts'
import { balancesAt } from './history/balance.ts'
import { readFirstInstant } from './shards.ts'

/**
 * Account under which reports and openings show the net income of a year. It is computed, never
 * posted to: income and expenses keep their balances, so that an entry with a value date in an open
 * month of a past year needs no correction.
 */
export const retainedEarningsOf = (year: number): Account => `equity:retained-earnings:${year}`

/** Returns true for income and expenses, whose balance of a year becomes retained earnings. */
export const isResult = (account: Account): boolean =>
  account.startsWith('income:') || account.startsWith('expenses:')

const yearStart = (year: number): Date => new Date(Date.UTC(year, 0, 1))

/**
 * Splits the net income until an instant by year. The first year includes all before it.
 * @param resultAt net income from the beginning until an instant
 */
export async function earningsByYear(
  client: ClientBase,
  until: Date,
  resultAt: (instant: Date) => Promise<bigint>,
): Promise<ReadonlyMap<number, bigint>> {
  const { rows } = await client.query<{ first: number; last: number }>(
    `SELECT extract(year FROM coalesce($1, now()) AT TIME ZONE 'UTC')::integer AS first,
       extract(year FROM now() AT TIME ZONE 'UTC')::integer AS last`,
    [(await readFirstInstant(client)) ?? null],
  )
  const earnings = new Map<number, bigint>()
  const { first, last } = rows[0]!
  let before = 0n
  for (let year = first; year <= last && yearStart(year) < until; year++) {
    const end = new Date(Math.min(yearStart(year + 1).getTime(), until.getTime()))
    const total = await resultAt(end)
    earnings.set(year, total - before)
    before = total
  }
  return earnings
}

/** Reads the balances that open a period: income and expenses before it are retained earnings. */
export const openingBalances = (pool: Pool, from: Date): Promise<readonly AccountBalance[]> =>
  readSnapshot(pool, async (client) => {
    const resultAt = async (instant: Date): Promise<bigint> => {
      const rows = await balancesAt(client, instant, { like: ['income:%', 'expenses:%'] })
      return rows.reduce((total, { balance }) => total + balance, 0n)
    }
    const earnings = await earningsByYear(client, from, resultAt)
    const kept = (await balancesAt(client, from)).filter(({ account }) => !isResult(account))
    return [
      ...kept.map(({ account: code, asset, balance: amount }) => ({ code, asset, amount })),
      ...[...earnings].map(([year, amount]) => {
        return { code: retainedEarningsOf(year), asset: 'USDC', amount } as const
      }),
    ]
  })
