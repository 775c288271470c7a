import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { openShards } from '../../../../core/identity/shards.ts'
import { beancountAccount } from '../../../../core/ledger/export/beancount.ts'
import type { ExportOrder } from '../../../../core/ledger/export/plan.ts'
import { accountingSymbol, decimalsOf, formatUnits } from '../../../../core/ledger/export/units.ts'
import { exportLedger, type FormatName } from '../../../../core/ledger/export/writer.ts'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import { trialBalance } from '../../../../core/ledger/trial-balance.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { DEBTOR, eventSamples, fundAssets, PRICE } from '../event-samples.ts'
import {
  micros,
  newId,
  openAgent,
  openGranted,
  openProvider,
  order,
  sampleLedger,
} from '../fixture.ts'

const run = promisify(execFile)
const BIG = 512 * 1024 * 1024
const EVENTS_MIN = 10_000
const CALLS = 5_600
const LOOPS = 100
const pick = (below: number): number => Math.floor(Math.random() * below)

/** Balances that three third-party accounting tools compute from the journal. */
describe('the accounting tools', function () {
  this.timeout(300_000)
  let database: FreshDatabase
  let folder: string

  before(async () => {
    database = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await bookAtRandom()
  })
  after(async () => {
    await rm(folder, { recursive: true })
    await database.drop()
  })

  /** Posts calls with all outcomes on two shards, and every single-step event. */
  async function bookAtRandom(): Promise<void> {
    await openShards(database.pool, 2)
    const ledger = new Ledger(database.pool)
    const agents = await Promise.all(
      Array.from({ length: 40 }, () => openAgent(ledger, 10n ** 12n)),
    )
    const payees = await Promise.all(
      ['one', 'two', 'Three.x'].map((name) => openProvider(ledger, name)),
    )
    const sellers = await ledger.account('liabilities:x402-out:in-transit')
    const allowance = await openGranted(ledger, 'ALLOWANCE', 10n ** 12n)
    const free = await openGranted(ledger, 'FREECALL', 10n ** 6n)
    const used = await ledger.account('equity:free-calls:used')
    const terms = (): ReturnType<typeof order> => {
      const amount = BigInt(1 + pick(99_999))
      const kind = pick(20)
      if (kind === 0) return order(free, used, 1n, { commissionBps: 0 })
      const guards = kind < 4 ? { guards: [allowance] } : {}
      const payee = kind === 4 ? sellers : payees[pick(payees.length)]!
      const commissionBps = kind === 4 ? 0 : pick(3_000)
      return order(agents[pick(agents.length)]!, payee, amount, {
        commissionBps,
        ttlSeconds: 0,
        ...guards,
      })
    }
    let left = CALLS
    const loop = async (): Promise<void> => {
      while (left-- > 0) {
        const call = terms()
        await ledger.reserve(call)
        const end = pick(20)
        if (end === 0) await ledger.release(call)
        else if (end === 1) await ledger.expire(call)
        else if (end > 2) await ledger.settle(call, end < 6 ? call.amount / 2n : call.amount)
      }
    }
    await Promise.all(Array.from({ length: LOOPS }, loop))
    const [credits, other] = agents as [(typeof agents)[0], (typeof agents)[0]]
    const earnings = payees[0]!
    const parties = {
      credits: credits.code,
      other: other.code,
      free: free.code,
      earnings: earnings.code,
    }
    await fundAssets(ledger)
    for (const { event } of eventSamples(parties)) {
      const meta = {
        author: 'a "quoted" \\ name',
        reason: 'line\nbreak; and = + @',
        provider: DEBTOR,
        ...PRICE,
      }
      await ledger.post(event, { owner: credits, id: newId(), meta })
    }
    const late = { owner: credits, id: newId(), effectiveAt: new Date('2026-11-02T03:04:05Z') }
    await ledger.post({ type: 'receipt.confirmed', amount: micros(5n) }, late)
  }

  /** Ledger balances as a tool prints them: debit-positive decimals by name, without zeros. */
  async function expected(
    name: (code: string) => string,
    allAssets = false,
  ): Promise<Map<string, string>> {
    const rows = await trialBalance(database.pool)
    return new Map(
      rows
        .filter(({ balance }) => balance !== 0n)
        .flatMap(({ account, asset, balance }) => {
          const symbol = accountingSymbol(asset, allAssets)
          if (symbol === undefined) return []
          return [[name(account), `${formatUnits(-balance, decimalsOf(symbol))} ${symbol}`]]
        }),
    )
  }

  async function fileOf(format: FormatName, order: ExportOrder = {}): Promise<string> {
    const file = join(folder, `ledger.${format}`)
    await writeFile(file, exportLedger(database.pool, format, order))
    return file
  }

  it(`have at least ${EVENTS_MIN.toLocaleString('en')} events to read`, async () => {
    const { rows } = await database.pool.query<{ n: string; kinds: string }>(
      'SELECT count(*) AS n, count(DISTINCT kind) AS kinds FROM ledger.journal',
    )
    expect(Number(rows[0]!.n)).to.be.at.least(EVENTS_MIN)
    expect(Number(rows[0]!.kinds)).to.be.above(25)
  })

  it('hledger accepts it strictly, with our balances to the microdollar', async function () {
    const hledger = await tool(this, 'hledger')
    const file = await fileOf('hledger', { allAssets: true })
    const flags = ['--strict', '--flat', '--no-total', '-O', 'csv']
    const csv = await hledger('-f', file, 'balance', ...flags)
    const theirs = new Map(
      csv
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => /^"(.*)","(.*)"$/.exec(line)!.slice(1, 3) as [string, string]),
    )
    expect(theirs).to.deep.equal(await expected((code) => code, true))
  })

  it('ledger-cli accepts it strictly, with our balances to the microdollar', async function () {
    const ledger = await tool(this, 'ledger')
    const file = await fileOf('ledger')
    const strict = ['--strict', '--pedantic', '-f']
    const text = await ledger(...strict, file, 'balance', '--flat', '--no-total')
    const theirs = new Map(
      text
        .trim()
        .split('\n')
        .map((line) => {
          const [, amount = '', account = ''] = /^\s*(\S+ [A-Z]+) {2}(\S+)$/.exec(line) ?? []
          return [account, amount] as const
        }),
    )
    expect(theirs).to.deep.equal(await expected((code) => code))
  })

  it('beancount accepts it, with our balances to the microdollar', async function () {
    const query = await tool(this, 'bean-query')
    const file = await fileOf('beancount')
    const select = 'SELECT account, sum(position) AS total GROUP BY account'
    const csv = await query('-f', 'csv', file, select)
    const theirs = new Map(
      csv
        .trim()
        .split(/\r?\n/)
        .slice(1)
        .map(
          (line) =>
            line.split(',').map((cell) => cell.trim().replace(/\s+/, ' ')) as [string, string],
        )
        // It prints an amount below 0.000001 ETH with an exponent.
        .map(([account, total]) => [account, total.replace(/^\S+E-\d+/, plainDecimal)] as const)
        .filter(([, total]) => total !== '' && !/^-?0(\.0+)? /.test(total)),
    )
    expect(theirs).to.deep.equal(await expected(beancountAccount))
  })
})

const plainDecimal = (amount: string): string => Number(amount).toFixed(decimalsOf('ETH'))

describe('a manipulated export', () => {
  let database: FreshDatabase
  let folder: string

  before(async () => {
    database = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await sampleLedger(database.pool)
  })
  after(async () => {
    await rm(folder, { recursive: true })
    await database.drop()
  })

  /** Makes an entry unbalanced, or asserts a balance that contradicts the journal. */
  const TWISTS: readonly [format: FormatName, check: readonly string[], balance: RegExp][] = [
    ['hledger', ['hledger', 'check', '--strict', '-f'], /( == -?\d+\.\d{5})[0-8] USDC\n/],
    [
      'ledger',
      ['ledger', '--strict', '--pedantic', 'balance', '-f'],
      /( = -?\d+\.\d{5})[0-8] USDC\n/,
    ],
    ['beancount', ['bean-check', '--no-cache'], /( balance \S+ {2}-?\d+\.\d{5})[0-8] ~ 0 USDC\n/],
  ]
  for (const [format, [program = '', ...flags], balance] of TWISTS) {
    it(`is rejected by ${program} for one microdollar or a wrong balance`, async function () {
      const check = await tool(this, program)
      const file = join(folder, `ledger.${format}`)
      await writeFile(file, exportLedger(database.pool, format))
      await check(...flags, file)
      const sound = await readFile(file, 'utf8')
      const posting = /(\n {2,4}[A-Za-z]\S+ {2}-?\d+\.\d{5})[0-8] USDC\n/
      for (const [was, unit] of [
        [posting, ''],
        [balance, format === 'beancount' ? '~ 0 ' : ''],
      ] as const) {
        const twisted = sound.replace(was, `$19 ${unit}USDC\n`)
        expect(twisted === sound, `nothing to twist: ${was}`).to.equal(false)
        await writeFile(`${file}.twisted`, twisted)
        const answer = await check(...flags, `${file}.twisted`).then(
          () => 'accepted',
          () => 'refused',
        )
        expect(answer, String(was)).to.equal('refused')
      }
    })
  }
})

/** Returns the command of a tool; skips the test if it is not installed. */
async function tool(
  test: Mocha.Context,
  name: string,
): Promise<(...args: string[]) => Promise<string>> {
  const found = await run(name, ['--version']).catch(() => undefined)
  if (!found) {
    process.stdout.write(`      ${name} is not installed: this test is skipped\n`)
    test.skip()
  }
  return async (...args) => {
    const { stdout, stderr } = await run(name, args, { maxBuffer: BIG })
    expect(stderr, `${name} complains`).to.equal('')
    return stdout
  }
}
