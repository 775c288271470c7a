import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  type FinancialStatement,
  financialStatement,
  STATEMENTS,
} from '../../../core/finance/financial-statements.ts'
import {
  parseReportPeriod,
  previousPeriod,
  type ReportPeriod,
} from '../../../core/finance/report-period.ts'
import { exportLedger, type FormatName } from '../../../core/ledger/export/writer.ts'
import { balancesAt } from '../../../core/ledger/history/balance.ts'
import { closePeriod } from '../../../core/ledger/history/period.ts'
import { summarizeDays } from '../../../core/ledger/history/snapshot.ts'
import { isCash } from '../../../core/ledger/postings.ts'
import { openingBalances } from '../../../core/ledger/retained-earnings.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import {
  type Amounts,
  beancountBalances,
  groupAmounts,
  hledgerStatement,
  isInstalled,
  ledgerBalances,
} from './accounting-tools.ts'
import { BusinessYear } from './business-year.ts'

const YEAR = 2_025

type Statements = Readonly<Record<(typeof STATEMENTS)[number], FinancialStatement>>

export interface YearOptions {
  readonly callsPerMonth: number
  /** True to compare the first and last month with ledger and beancount, and no other. */
  readonly brief: boolean
}

/** Tests that accounting tools agree with our statements for each month of a year of business. */
export function accountingYearTests({ callsPerMonth, brief }: YearOptions): void {
  let database: FreshDatabase
  let folder: string
  let business: BusinessYear
  /** Statements of each month and of the year, as they were when it was closed. */
  const closed = new Map<string, Statements>()
  const year = parseReportPeriod(`${YEAR}`)!

  before(async () => {
    database = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    const { admin, pool } = database
    business = await BusinessYear.open({ admin, pool, year: YEAR, callsPerMonth })
    for (const month of business.months) {
      await business.trade(month)
      expect(await closePeriod(pool, month.name, 'closer')).to.deep.equal([month.name])
      closed.set(month.name, await read(month))
    }
    await summarizeDays(pool)
  })
  after(async () => {
    await rm(folder, { recursive: true })
    await database.drop()
  })

  async function read(period: ReportPeriod): Promise<Statements> {
    const found = await Promise.all(
      STATEMENTS.map((name) =>
        financialStatement(database.pool, name, [period, previousPeriod(period)]),
      ),
    )
    return Object.fromEntries(found.map((each) => [each.name, each])) as Statements
  }

  const periods = (): readonly ReportPeriod[] => [...business.months, year]

  async function fileOf(period: ReportPeriod, format: FormatName): Promise<string> {
    const file = join(folder, `${period.name}.${format}`)
    const { pool } = database
    const opening = await openingBalances(pool, period.from)
    await writeFile(file, exportLedger(pool, format, { period }, opening))
    return file
  }

  it('has every event in each month', async () => {
    const { rows } = await database.pool.query<{ month: string; missing: string | null }>(
      `SELECT m.month, string_agg(k.event, ', ') AS missing
       FROM unnest($1::text[]) m(month) CROSS JOIN ledger.kind k
       WHERE NOT EXISTS (SELECT FROM ledger.journal j WHERE j.kind = k.id AND to_char(
         coalesce((j.meta ->> 'month' || '-01')::date, j.at), 'YYYY-MM') = m.month)
       GROUP BY m.month`,
      [business.months.map(({ name }) => name)],
    )
    expect(rows).to.deep.equal([])
  })

  it('closes each month with statements that balance and never change again', async () => {
    for (const month of business.months) {
      const found = await read(month)
      expect(found, month.name).to.deep.equal(closed.get(month.name))
      for (const { name, results } of Object.values(found)) {
        const difference = results.find((line) => line.name === 'difference')
        expect(difference?.amounts ?? [0n, 0n], name).to.deep.equal([0n, 0n])
      }
    }
  })

  it('adds up the months to the year', async () => {
    const { 'income-statement': ofYear, 'balance-sheet': sheet } = await read(year)
    const months = [...closed.values()].map((found) => netIncomeOf(found['income-statement']))
    expect(netIncomeOf(ofYear)).to.equal(months.reduce((total, amount) => total + amount))
    expect(amountsOf(sheet, 'equity').get(`equity:retained-earnings:${YEAR}`)).to.equal(
      netIncomeOf(ofYear),
    )
    expect(sheet.sections).to.deep.include.members([
      {
        ...sheet.sections[0]!,
        totals: [closed.get(`${YEAR}-12`)!['balance-sheet'].sections[0]!.totals[0]!, 0n],
      },
    ])
  })

  it('agrees with the statements of hledger for every month and the year', async function () {
    if (!(await isInstalled('hledger'))) this.skip()
    for (const period of periods()) {
      const ours = await read(period)
      const file = await fileOf(period, 'hledger')
      const range = ['-b', dayOf(period.from), '-e', dayOf(period.to)]
      expect(await hledgerStatement(file, 'is', ...range), `is ${period.name}`).to.deep.equal(
        merged(ours['income-statement'], 'income', 'expenses'),
      )
      expect(await hledgerStatement(file, 'bs', ...range), `bs ${period.name}`).to.deep.equal(
        merged(ours['balance-sheet'], 'assets', 'liabilities'),
      )
      const noOpening = ['not:desc:opening balances', ...range]
      expect(await hledgerStatement(file, 'cf', ...noOpening), `cf ${period.name}`).to.deep.equal(
        merged(ours['cash-flow'], 'change in cash'),
      )
    }
  })

  for (const [tool, format, balances] of [
    ['ledger', 'ledger', ledgerBalances],
    ['bean-query', 'beancount', beancountBalances],
  ] as const) {
    it(`agrees with the balances of ${tool} for every month and the year`, async function () {
      if (!(await isInstalled(tool))) this.skip()
      const compared = periods().filter((_, i) => !brief || i === 0 || i >= 11)
      for (const period of compared) {
        const theirs = await balances(await fileOf(period, format))
        expect(theirs, period.name).to.deep.equal(expectedBalances(await read(period)))
        const opening = await openingBalances(database.pool, period.from)
        const cashBefore = opening
          .filter(({ code }) => isCash(code))
          .reduce((total, { amount }) => total - amount, 0n)
        const cash = [...theirs].filter(([code]) => isCash(code))
        const change = cash.reduce((total, [, amount]) => total + amount, -cashBefore)
        const { 'cash-flow': flow } = await read(period)
        expect(flow.sections.at(-1)!.totals[0], `cash ${period.name}`).to.equal(change)
      }
    })
  }

  it('disagrees with hledger if an export carries income into a period', async function () {
    if (!(await isInstalled('hledger'))) this.skip()
    const period = business.months[6]!
    const file = join(folder, 'carried.journal')
    const rows = await balancesAt(database.pool, period.from)
    const carried = rows.map(({ account: code, asset, balance: amount }) => ({
      code,
      asset,
      amount,
    }))
    await writeFile(file, exportLedger(database.pool, 'hledger', { period }, carried))
    const { 'income-statement': ours } = await read(period)
    const theirs = await hledgerStatement(file, 'is')
    expect(theirs).to.not.deep.equal(merged(ours, 'income', 'expenses'))
  })

  it('opens the next year with retained earnings, and no income or expenses', async () => {
    const opening = await openingBalances(database.pool, year.to)
    const results = opening.filter(({ code }) => /^(?:income|expenses):/.test(code))
    expect(results).to.deep.equal([])
    const retained = opening.find(({ code }) => code === `equity:retained-earnings:${YEAR}`)
    const { 'income-statement': ofYear } = await read(year)
    expect(retained?.amount).to.equal(netIncomeOf(ofYear))
    expect(retained?.amount).to.not.equal(0n)
  })
}

const dayOf = (instant: Date): string => instant.toISOString().slice(0, 10)

const netIncomeOf = ({ results }: FinancialStatement): bigint => results[0]!.amounts[0]!

/** Amounts of the first period in a section, without zeros. */
const amountsOf = ({ sections }: FinancialStatement, name: string): Amounts =>
  groupAmounts(
    sections
      .filter((section) => section.name === name)
      .flatMap(({ lines }) => lines.map((line) => [line.name, line.amounts[0]!] as const)),
  )

const merged = (found: FinancialStatement, ...names: readonly string[]): Amounts =>
  groupAmounts(names.flatMap((name) => [...amountsOf(found, name)]))

/** Balances, debit-positive, of the export of a period with its opening balances. */
function expectedBalances(ours: Statements): Amounts {
  const income = amountsOf(ours['income-statement'], 'income')
  const negative = (amounts: Amounts) =>
    [...amounts].map(([code, amount]) => [code, -amount] as const)
  const sheet = ours['balance-sheet']
  const equity = [...amountsOf(sheet, 'equity')].map(([code, amount]) => {
    const isYear = code === `equity:retained-earnings:${YEAR}`
    return [code, isYear ? amount - netIncomeOf(ours['income-statement']) : amount] as const
  })
  return groupAmounts([
    ...amountsOf(ours['income-statement'], 'expenses'),
    ...amountsOf(sheet, 'assets'),
    ...negative(income),
    ...negative(amountsOf(sheet, 'liabilities')),
    ...negative(new Map(equity)),
  ])
}
