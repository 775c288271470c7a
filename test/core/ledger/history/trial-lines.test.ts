import { expect } from 'chai'
import * as fc from 'fast-check'
import { dayStart, daysBefore, systemClock } from '../../../../core/clock.ts'
import { balancesAt } from '../../../../core/ledger/history/balance.ts'
import { summarizeDays, takeSnapshots } from '../../../../core/ledger/history/snapshot.ts'
import {
  type TrialFilter,
  type TrialLine,
  trialLines,
} from '../../../../core/ledger/history/trial-lines.ts'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { bulkLedger } from '../../../bench/bulk-ledger.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { micros, newId } from '../fixture.ts'
import { broken, tamper } from '../verify/tampering.ts'

const now = systemClock.now()
const seed = now.getTime() % 2 ** 31
const DAYS = 6
const HOUR_MS = 3_600_000
const CHECK = 'each end-of-day balance matches the journal'

const GROUP = /^(?:liabilities:(?:agents|providers|free-calls|allowances)|income:services):/

/** Returns the lines of all balances that match a filter, without paging. */
async function linesOf(
  database: FreshDatabase,
  instant: Date,
  { prefix, zero, grouped }: TrialFilter,
): Promise<TrialLine[]> {
  const accounts = (await balancesAt(database.pool, instant)).filter(
    ({ account, balance }) => account.startsWith(prefix) && (zero || balance !== 0n),
  )
  if (!grouped) return accounts.map((row) => ({ ...row, accounts: 1 }))
  const nameOf = (account: string) => GROUP.exec(account)?.[0] ?? account
  const groups = Map.groupBy(accounts, ({ account, asset }) => `${nameOf(account)} ${asset}`)
  return [...groups.values()].map((rows) => ({
    account: nameOf(rows[0]!.account),
    asset: rows[0]!.asset,
    balance: rows.reduce((sum, { balance }) => sum + balance, 0n),
    accounts: rows.length,
  }))
}

function sumsOf(lines: readonly TrialLine[]): Record<string, { debits: bigint; credits: bigint }> {
  const sums: Record<string, { debits: bigint; credits: bigint }> = {}
  for (const { asset, balance } of lines) {
    const sum = (sums[asset] ??= { debits: 0n, credits: 0n })
    sum[balance < 0n ? 'debits' : 'credits'] += balance < 0n ? -balance : balance
  }
  return sums
}

describe('the lines of a trial balance', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let midnights: Date[]

  before(async () => {
    database = await freshDatabase()
    const start = daysBefore(now, DAYS)
    const stepMs = 2 * HOUR_MS
    const options = { shards: 3, agents: 9, providers: 3, batch: 12, start, stepMs }
    const bulk = await bulkLedger(database.admin, options)
    await bulk.load((DAYS * 24 * HOUR_MS) / stepMs)
    await database.admin.query(
      `CREATE OR REPLACE FUNCTION ledger.chunk_size() RETURNS integer LANGUAGE sql
       IMMUTABLE RETURN 47`,
    )
    await takeSnapshots(database.pool)
    ledger = new Ledger(database.pool)
    midnights = Array.from({ length: DAYS + 3 }, (_, i) => dayStart(daysBefore(now, i - 1)))
  })
  after(() => database.drop())

  /** Filters with all page sizes and kinds of accounts, at instants between and within days. */
  const filters = fc.record({
    prefix: fc.constantFrom(
      '',
      '',
      'liabilities:',
      'liabilities:agents',
      'liabilities:agents:',
      'liabilities:agents:bulk-1',
      'liabilities:agents:late-1:credits',
      'liabilities:providers:',
      'equity:',
      'assets:usdc:base:treasury',
      'none',
    ),
    zero: fc.boolean(),
    grouped: fc.boolean(),
    limit: fc.constantFrom(1, 2, 7, 1_000),
  })
  const within = fc.constantFrom(0, 0, 0, 1, -1, 7 * HOUR_MS)

  /** Reads all pages of a filter. */
  async function pagesOf(filter: Omit<TrialFilter, 'after'>, instant?: Date) {
    const lines: TrialLine[] = []
    for (;;) {
      const after = lines.at(-1)?.account ?? ''
      const page = await trialLines(database.pool, { ...filter, after }, instant)
      lines.push(...page.lines)
      if (page.lines.length < filter.limit) return { ...page, lines }
      expect(page.lines).to.have.length(filter.limit)
    }
  }

  const agrees = () =>
    fc.assert(
      fc.asyncProperty(filters, fc.nat(DAYS + 2), within, async (filter, day, ms) => {
        const instant = new Date(midnights[day]!.getTime() + ms)
        const wanted = await linesOf(database, instant, { ...filter, after: '' })
        const { lines, sums, totals } = await pagesOf(filter, instant)
        expect(lines).to.deep.equal(wanted)
        const shown = Object.entries(sumsOf(wanted.filter(({ balance }) => balance !== 0n)))
        expect(Object.fromEntries(sums)).to.deep.equal(Object.fromEntries(shown))
        for (const total of totals.values()) expect(total).to.equal(0n)
      }),
      { numRuns: 50, seed },
    )

  const ends = async () => (await database.pool.query('TABLE ledger.day_end ORDER BY day')).rows

  it(`contain each account once without end-of-day balances (seed ${seed})`, async () => {
    expect(await ends()).to.deep.equal([])
    await agrees()
  })

  it(`are the same with end-of-day balances, taken concurrently (seed ${seed})`, async () => {
    const made = await Promise.all([1, 2, 3].map(() => summarizeDays(database.pool)))
    expect(made.reduce((sum, days) => sum + days, 0)).to.equal((await ends()).length)
    expect((await ends()).length).to.be.within(DAYS - 1, DAYS)
    expect(await summarizeDays(database.pool), 'once').to.equal(0)
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    await agrees()
  })

  it(`include entries posted after the end-of-day balances (seed ${seed})`, async () => {
    const before = await ends()
    const meta = { author: 'finance', reason: 'a test' }
    for (const i of [0, 1, 2, 3]) {
      const owner = await ledger.open(`liabilities:agents:late-${i}:credits`, 'USDC', {
        home: i % 3,
      })
      const post = (type: 'credits.purchased' | 'credits.lapsed', days: number) =>
        ledger.post(
          { type, credits: owner.code, amount: micros(700n) },
          { owner, id: newId(), effectiveAt: daysBefore(now, days), meta },
        )
      await post('credits.purchased', i)
      if (i === 2) await post('credits.lapsed', 1) // empty again
      if (i === 3) await post('credits.lapsed', 5) // negative for two days
    }
    const allowance = await ledger.open('liabilities:allowances:late', 'ALLOWANCE', { home: 1 })
    const granted = { type: 'units.granted', account: allowance.code, asset: 'ALLOWANCE' } as const
    await ledger.post(
      { ...granted, units: 5n },
      { owner: allowance, id: newId(), effectiveAt: daysBefore(now, 3) },
    )
    expect(await ends(), 'are never changed').to.deep.equal(before)
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    await agrees()
  })

  it('are current without an instant and at a future one', async () => {
    const all = { prefix: '', zero: false, grouped: true, limit: 1_000, after: '' }
    const wanted = await linesOf(database, new Date('2100-01-01'), all)
    for (const instant of [undefined, new Date('2100-01-01'), new Date(Date.now() + HOUR_MS)]) {
      expect((await trialLines(database.pool, all, instant)).lines).to.deep.equal(wanted)
    }
  })

  it('are read from the end-of-day balances, not from later entries', async () => {
    const all = { prefix: '', zero: false, grouped: true, limit: 1_000, after: '' }
    const day = (await ends()).at(-2)!.day as string
    const instant = daysBefore(new Date(day), -1)
    const { lines } = await trialLines(database.pool, all, instant)
    const double = `UPDATE ledger.day_end SET credits = ARRAY(SELECT 2 * c FROM unnest(credits) c),
      debits = ARRAY(SELECT 2 * d FROM unnest(debits) d) WHERE day = '${day}'`
    await tamper(database, double)
    const read = await trialLines(database.pool, all, instant)
    expect(read.lines.map(({ balance }) => balance)).to.not.deep.equal(
      lines.map(({ balance }) => balance),
    )
    await tamper(database, `UPDATE ledger.day_end SET seqs[2] = seqs[2] - 1 WHERE day = '${day}'`)
    expect((await trialLines(database.pool, all, instant)).lines).to.deep.equal(lines)
    await database.admin.query('SELECT ledger.drop_snapshots()')
  })

  it('are rebuilt identically, and a changed end-of-day balance is reported', async () => {
    await takeSnapshots(database.pool)
    expect(await summarizeDays(database.pool)).to.be.within(DAYS - 1, DAYS)
    const before = await ends()
    const day = before.at(-2)!.day as string
    for (const [set, named] of [
      ['credits[1] = credits[1] + 1', `day ${day}: `],
      ['accounts[2] = accounts[2] + 1', `day ${day}: `],
      [`codes[1] = 'assets:none'`, `day ${day}: assets:none`],
    ] as const) {
      await tamper(database, `UPDATE ledger.day_end SET ${set} WHERE day = '${day}'`)
      expect(broken(await verifyLedger(database.pool))[CHECK], set).to.include(named)
      await database.admin.query('SELECT ledger.drop_snapshots()')
      await takeSnapshots(database.pool)
      await summarizeDays(database.pool)
      expect(await ends(), 'byte for byte').to.deep.equal(before)
    }
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
  })
})
