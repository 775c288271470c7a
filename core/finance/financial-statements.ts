import type { Pool, PoolClient } from 'pg'
import { readSnapshot } from '../db/transaction.ts'
import type { Account } from '../ledger/events.ts'
import { readGroupsAt } from '../ledger/history/trial-lines.ts'
import { isCash } from '../ledger/postings.ts'
import { earningsByYear, isResult, retainedEarningsOf } from '../ledger/retained-earnings.ts'
import type { ReportPeriod } from './report-period.ts'

export const STATEMENTS = ['income-statement', 'balance-sheet', 'cash-flow'] as const
export type StatementName = (typeof STATEMENTS)[number]

/** One line of a statement: an account, or all accounts of one kind; one amount per period. */
export interface ReportLine {
  readonly name: Account
  /** Microdollars, positive on the normal side of the section. */
  readonly amounts: readonly bigint[]
}

export interface ReportSection {
  readonly name: string
  readonly lines: readonly ReportLine[]
  readonly totals: readonly bigint[]
}

/** Financial statement of several periods, in USDC, which counts as USD. */
export interface FinancialStatement {
  readonly name: StatementName
  readonly periods: readonly ReportPeriod[]
  readonly sections: readonly ReportSection[]
  /** Net income; the difference of both sides, which is zero; or the movement of cash. */
  readonly results: readonly ReportLine[]
}

/** Credit-positive USDC balances by group of accounts (`ledger.account_group`). */
export type GroupBalances = ReadonlyMap<Account, bigint>

/** Balances before and at the end of a period, with the net income of each year until then. */
export interface PeriodBalances {
  readonly opening: GroupBalances
  readonly closing: GroupBalances
  readonly earnings: ReadonlyMap<number, bigint>
}

/**
 * Reads a statement of each period, from the balances by value date in one snapshot. Its figures
 * are differences of trial balances. A period that is not over yet is reported until now.
 */
export const financialStatement = async (
  pool: Pool,
  name: StatementName,
  periods: readonly ReportPeriod[],
): Promise<FinancialStatement> => (await financialStatements(pool, [name], periods))[0]!

/** Reads several statements of each period from one snapshot, and each balance once. */
export const financialStatements = (
  pool: Pool,
  names: readonly StatementName[],
  periods: readonly ReportPeriod[],
): Promise<readonly FinancialStatement[]> =>
  readSnapshot(pool, async (client) => {
    const balances = await readPeriods(client, periods)
    return names.map((name) => ({ name, periods, ...BUILDERS[name](balances) }))
  })

/** Reads the balances around each period. */
async function readPeriods(
  client: PoolClient,
  periods: readonly ReportPeriod[],
): Promise<PeriodBalances[]> {
  const known = new Map<number, GroupBalances>()
  const balancesAt = async (at: Date): Promise<GroupBalances> => {
    const found = known.get(at.getTime()) ?? (await readBalances(client, [at]))[0]!
    known.set(at.getTime(), found)
    return found
  }
  const resultAt = async (at: Date): Promise<bigint> => sum(await balancesAt(at), isResult)
  const read: PeriodBalances[] = []
  for (const { from, to } of periods) {
    const earnings = await earningsByYear(client, to, resultAt)
    read.push({ opening: await balancesAt(from), closing: await balancesAt(to), earnings })
  }
  return read
}

/** Reads the balances of each instant by value date. */
export async function readBalances(
  client: PoolClient,
  instants: readonly Date[],
): Promise<readonly GroupBalances[]> {
  return (await readGroupsAt(client, instants)).map((groups) => {
    const money = groups.filter(({ asset }) => asset === 'USDC')
    return new Map(money.map(({ account, balance }) => [account, balance]))
  })
}

export const startsWith =
  (...prefixes: readonly string[]) =>
  (account: Account): boolean =>
    prefixes.some((prefix) => account.startsWith(prefix))

const isEquity = startsWith('equity:')
/** Changes of equity without cash: no USDC was paid in or out. */
const isConversion = startsWith(
  'equity:conversion:',
  'equity:contributed-eth',
  'equity:between-shards',
)

export function sum(balances: GroupBalances, selects: (account: Account) => boolean): bigint {
  let total = 0n
  for (const [account, balance] of balances) if (selects(account)) total += balance
  return total
}

const changesOf = ({ opening, closing }: PeriodBalances): GroupBalances =>
  new Map(
    [...new Set([...opening.keys(), ...closing.keys()])].map((account) => [
      account,
      (closing.get(account) ?? 0n) - (opening.get(account) ?? 0n),
    ]),
  )

/** Section of the accounts that are selected, without those that are zero in all periods. */
function section(
  name: string,
  periods: readonly GroupBalances[],
  selects: (account: Account) => boolean,
  side: 'credit' | 'debit' = 'credit',
): ReportSection {
  const sign = side === 'credit' ? 1n : -1n
  const names = [...new Set(periods.flatMap((balances) => [...balances.keys()]))]
  const lines = names
    .filter(selects)
    .toSorted()
    .map((account) => ({
      name: account,
      amounts: periods.map((balances) => sign * (balances.get(account) ?? 0n)),
    }))
    .filter(({ amounts }) => amounts.some((amount) => amount !== 0n))
  const totals = periods.map((balances) => sign * sum(balances, selects))
  return { name, lines, totals }
}

type Builder = (
  periods: readonly PeriodBalances[],
) => Pick<FinancialStatement, 'sections' | 'results'>

function incomeStatement(periods: readonly PeriodBalances[]) {
  const changes = periods.map(changesOf)
  const income = section('income', changes, startsWith('income:'))
  const expenses = section('expenses', changes, startsWith('expenses:'), 'debit')
  const amounts = changes.map((each) => sum(each, isResult))
  return { sections: [income, expenses], results: [{ name: 'net income', amounts }] }
}

function balanceSheet(periods: readonly PeriodBalances[]) {
  const closing = periods.map(withRetainedEarnings)
  const assets = section('assets', closing, startsWith('assets:'), 'debit')
  const liabilities = section('liabilities', closing, startsWith('liabilities:'))
  const equity = section('equity', closing, isEquity)
  const amounts = periods.map(
    (_, i) => assets.totals[i]! - liabilities.totals[i]! - equity.totals[i]!,
  )
  const results = [{ name: 'difference', amounts }]
  return { sections: [assets, liabilities, equity], results }
}

/** Closing balances with income and expenses as the earnings of their years. */
const withRetainedEarnings = ({ closing, earnings }: PeriodBalances): GroupBalances =>
  new Map([
    ...[...closing].filter(([account]) => !isResult(account)),
    ...[...earnings].map(([year, amount]) => [retainedEarningsOf(year), amount] as const),
  ])

/** Indirect method: net income, corrected by the changes of all accounts that are not cash. */
function cashFlow(periods: readonly PeriodBalances[]) {
  const changes = periods.map((period) => {
    const rest = [...changesOf(period)].filter(([account]) => !isResult(account))
    return new Map([...rest, ['net income', sum(changesOf(period), isResult)] as const])
  })
  const isFinancing = (account: Account): boolean => isEquity(account) && !isConversion(account)
  const isOperating = (account: Account): boolean => !isFinancing(account) && !isCash(account)
  const operating = section('operating activities', changes, isOperating)
  const financing = section('financing activities', changes, isFinancing)
  const cash = section('change in cash', changes, isCash, 'debit')
  const start = periods.map(({ opening }) => -sum(opening, isCash))
  const results = [
    { name: 'cash at the start', amounts: start },
    { name: 'cash at the end', amounts: periods.map(({ closing }) => -sum(closing, isCash)) },
    {
      name: 'difference',
      amounts: cash.totals.map((total, i) => operating.totals[i]! + financing.totals[i]! - total),
    },
  ]
  return { sections: [operating, financing, cash], results }
}

const BUILDERS: Readonly<Record<StatementName, Builder>> = {
  'income-statement': incomeStatement,
  'balance-sheet': balanceSheet,
  'cash-flow': cashFlow,
}
