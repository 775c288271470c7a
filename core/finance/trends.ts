import type { Pool, PoolClient } from 'pg'
import { dayName, monthName, monthStart } from '../clock.ts'
import { readSnapshot } from '../db/transaction.ts'
import type { Account } from '../ledger/events.ts'
import { EXPENSE, isCash } from '../ledger/postings.ts'
import { isResult } from '../ledger/retained-earnings.ts'
import { type GroupBalances, readBalances, startsWith, sum } from './financial-statements.ts'

/** Figures of one UTC month, in microdollars. A month that is not over is counted until now. */
export interface MonthFigures {
  readonly month: string
  /** Price of the calls of providers' APIs before commission and refunds. */
  readonly providerSales: bigint
  /** Sales of first-party services after refunds. */
  readonly firstPartySales: bigint
  readonly commission: bigint
  readonly income: bigint
  readonly expenses: bigint
  readonly netIncome: bigint
  readonly gas: bigint
  /** Payouts that were started and did not fail. */
  readonly payouts: bigint
  /** At the end of the month. */
  readonly liabilities: bigint
  /** USDC of the platform at the end of the month, payments in transit included. */
  readonly cash: bigint
}

const isIncome = startsWith('income:')
const isExpense = startsWith('expenses:')
const isLiability = startsWith('liabilities:')
const isFirstPartySale = startsWith('income:services:')
const isCommission = startsWith('income:commission')
const isGas = (account: Account): boolean => account === EXPENSE.gas

/** Reads the figures of the last months from the journal in one snapshot, the oldest first. */
export const readTrends = (pool: Pool, now: Date, months: number): Promise<MonthFigures[]> =>
  readSnapshot(pool, async (client) => {
    const starts = Array.from({ length: months + 1 }, (_, i) => monthStart(now, i + 1 - months))
    const sales = await sumByMonth(client, SALES, starts)
    const payouts = await sumByMonth(client, PAYOUTS, starts)
    const balances = await readBalances(client, starts)
    return starts.slice(1).map((_, i) => {
      const month = monthName(starts[i]!)
      return {
        month,
        providerSales: sales.get(month) ?? 0n,
        payouts: payouts.get(month) ?? 0n,
        ...monthFigures(balances[i]!, balances[i + 1]!),
      }
    })
  })

function monthFigures(opening: GroupBalances, closing: GroupBalances) {
  const change = (selects: (account: Account) => boolean): bigint =>
    sum(closing, selects) - sum(opening, selects)
  return {
    firstPartySales: change(isFirstPartySale),
    commission: change(isCommission),
    income: change(isIncome),
    expenses: -change(isExpense),
    netIncome: change(isResult),
    gas: -change(isGas),
    liabilities: sum(closing, isLiability),
    cash: -sum(closing, isCash),
  }
}

const SALES = `
  SELECT to_char(day, 'YYYY-MM') AS month, sum(gross)::bigint AS amount
  FROM hub.earning WHERE day >= $1 AND day < $2 GROUP BY 1`

const PAYOUTS = `
  SELECT to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, sum(amount)::bigint AS amount
  FROM hub.payout WHERE state <> 'failed'
    AND started_at >= $1::date::timestamp AT TIME ZONE 'UTC'
    AND started_at < $2::date::timestamp AT TIME ZONE 'UTC' GROUP BY 1`

async function sumByMonth(
  client: PoolClient,
  query: string,
  starts: readonly Date[],
): Promise<ReadonlyMap<string, bigint>> {
  const range = [dayName(starts[0]!), dayName(starts.at(-1)!)]
  const { rows } = await client.query<{ month: string; amount: bigint }>(query, range)
  return new Map(rows.map(({ month, amount }) => [month, amount]))
}
