import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { closePeriod } from '../../../core/ledger/history/period.ts'
import type { AccountRef, ReserveOrder } from '../../../core/ledger/ledger.ts'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import { order, sampleLedger } from '../../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const WHO = ['--author', 'finance', '--reason', 'dispute 17']

/** The commands that finance runs, and their output. */
describe('npm run ledger', () => {
  let database: FreshDatabase
  let owner: AccountRef
  let settled: ReserveOrder

  before(async () => {
    database = await freshDatabase()
    const small = await sampleLedger(database.pool)
    owner = small.owner
    settled = order(owner, small.payee, 2_000_000n / 4n)
    await small.ledger.reserve(settled)
    await small.ledger.settle(settled, 500_000n)
  })
  after(() => database.drop())

  async function run(...args: string[]): Promise<{ code: number; output: string }> {
    let output = ''
    const code = await ledgerCommand(
      async () => database.pool,
      args,
      (text) => {
        output += text
      },
    )
    return { code, output }
  }

  it('explains usage and errors without a database', async () => {
    const none = () => Promise.reject(new Error('no database is needed for this'))
    const messages: string[] = []
    const misuse = async (...args: string[]): Promise<string> => {
      messages.length = 0
      expect(
        await ledgerCommand(none, args, (text) => messages.push(text)),
        args.join(' '),
      ).to.equal(2)
      return messages.join('')
    }
    expect(await misuse()).to.match(/^no command given\n\nUsage: npm run ledger/)
    expect(await misuse('steal')).to.match(/^unknown command: steal\n\nUsage/)
    expect(await misuse('verify', '--x')).to.match(/^Unknown option '--x'/)
    expect(await misuse('balances', 'extra')).to.match(/^unknown argument: extra/)
    expect(await misuse('balances', '--at', '2026-13-01')).to.match(/^not an instant: 2026-13-01/)
    expect(await misuse('balances', '--at', '2026-11-21', '--month', '2026-11')).to.match(
      /^use either --at or/,
    )
    expect(await misuse('export', '--format', 'pdf')).to.match(
      /^--format jsonl\|csv\S+ is required/,
    )
    expect(await misuse('export', '--format', 'csv', '--resume')).to.match(
      /^--resume requires --out/,
    )
    const backwards = ['--from', '2026-11-02', '--to', '2026-11-01']
    expect(await misuse('export', '--format', 'csv', ...backwards)).to.match(
      /^--from must be before/,
    )
    expect(await misuse('statement')).to.match(/^ACCOUNT is required/)
    for (const args of [['--help'], ['help'], ['export', '--help']]) {
      expect(await ledgerCommand(none, args, () => {}), args.join(' ')).to.equal(0)
    }
  })

  it('prints a statement whose movements add up from opening to closing', async () => {
    const text = await run('statement', owner.code)
    expect(text.code).to.equal(0)
    expect(text.output).to.match(/^liabilities:agents:\S+ in USDC\nopening +0\.000000\n/)
    expect(text.output).to.match(/call\.reserved +-0\.500000 /)
    const json = (await run('statement', owner.code, '--json')).output.trim().split('\n')
    const [head, ...movements] = json.map((line) => JSON.parse(line) as Record<string, string>)
    const sum = movements.reduce((total, { amount }) => total + BigInt(amount!), 0n)
    expect(BigInt(head!['opening']!) + sum).to.equal(BigInt(head!['closing']!))
    expect(movements.at(-1)!['balance']).to.equal(head!['closing'])
    const csv = (await run('statement', owner.code, '--csv')).output.trim().split('\r\n')
    expect(csv).to.have.length(movements.length + 1)
    expect(csv[0]).to.equal(
      'value_at_utc,booked_at_utc,shard,seq,id,event,contra,asset,amount,balance',
    )
    expect(await run('statement', owner.code, '--month', '2020-01', '--json')).to.deep.include({
      code: 0,
    })
    expect(await run('statement', 'assets:none')).to.deep.equal({
      code: 1,
      output: 'There is no account assets:none. Run "ledger -- balances" for the names.\n',
    })
  })

  it('prints balances, of now and of another day, that sum to zero', async () => {
    const now = JSON.parse((await run('balances', '--json')).output)
    const then = JSON.parse((await run('balances', '--at', '2020-01', '--json')).output)
    for (const { totals } of [now, then]) {
      expect(totals).to.deep.equal({ USDC: '0', GWEI: '0', ALLOWANCE: '0', FREECALL: '0' })
    }
    const open = (rows: { balance: string }[]) => rows.filter(({ balance }) => balance !== '0')
    expect(open(now.accounts)).to.not.deep.equal([])
    expect(open(then.accounts)).to.deep.equal([])
    expect((await run('balances')).output).to.match(/\ntotal +0\.000000 USDC\n/)
  })

  it('prints financial statements that balance, also as CSV and JSON', async () => {
    const sheet = await run('balance-sheet', '2026')
    expect(sheet).to.have.property('code', 0)
    expect(sheet.output).to.match(/\n {2}liabilities:agents +\d+\.\d{6} /)
    expect(sheet.output).to.match(/\ndifference +0\.000000 +0\.000000\n$/)
    const csv = (await run('income-statement', '2026', '--csv')).output.split('\r\n')
    expect(csv[0]).to.equal('section,income-statement,2026,2025')
    const flow = JSON.parse((await run('cash-flow', '2026-Q4', '--json')).output)
    expect(flow.periods.map(({ name }: { name: string }) => name)).to.deep.equal([
      '2026-Q4',
      '2026-Q3',
    ])
    const wrong = await run('cash-flow', '2026-13')
    expect(wrong.code).to.equal(2)
    expect(wrong.output).to.match(/^not a period: 2026-13/)
  })

  it('posts nothing: acts about money are for people with a role', async () => {
    for (const act of ['adjust', 'refund', 'transfer', 'resolve', 'close']) {
      const { code, output } = await run(act, settled.call, ...WHO)
      expect(code, act).to.equal(2)
      expect(output).to.match(new RegExp(`^unknown command: ${act}\\n`))
    }
  })

  it('lists closed months, and what is missing before one can be closed', async () => {
    expect(await run('periods')).to.deep.equal({ code: 0, output: 'No month is closed.\n' })
    expect((await run('periods', '2020-13')).output).to.match(/^not a month: 2020-13/)
    expect((await run('periods', '2999-01')).code).to.equal(2)
    const early = await run('periods', '2099-01')
    expect(early.code).to.equal(1)
    expect(early.output).to.match(/^missing {2}over: .* Wait until the month has ended \(UTC\)\.$/m)
    const ready = await run('periods', '2020-01')
    expect(ready.code, ready.output).to.equal(0)
    expect(ready.output).to.match(/^met {2}exceptions: /m)
    await closePeriod(database.pool, '2020-01', 'two people')
    expect((await run('periods', '2020-01')).output).to.equal('2020-01 is closed.\n')
    expect((await run('periods')).output).to.match(/^2020-01 {2}closed \S+Z by two people\n$/)
    await database.admin.query(
      `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
       VALUES ('treasury', 'unknown_deposit', 'x', 700, 'Nobody knows.')`,
    )
    const open = await run('periods', '2020-02')
    expect(open.code).to.equal(1)
    expect(open.output).to.match(/^missing {2}exceptions: .* Resolve each .* under Exceptions\.$/m)
  })

  it('verifies a sound ledger, entirely and since the last checkpoint', async () => {
    for (const args of [[], ['--since'], ['--json']]) {
      const { code, output } = await run('verify', ...args)
      expect(code, output).to.equal(0)
    }
    expect((await run('verify', '--checkpoints', '/no/such/file')).output).to.match(/^cannot read/)
    expect((await run('checkpoints')).code).to.equal(0)
  })

  it('verifies an export without a database and names an altered row', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    const file = join(folder, 'books.jsonl')
    const none = () => Promise.reject(new Error('no database is needed for this'))
    const messages: string[] = []
    const verify = () =>
      ledgerCommand(none, ['verify', '--file', file], (text) => messages.push(text))
    try {
      await run('export', '--format', 'jsonl', '--out', file, ...WHO)
      const { rows } = await database.pool.query(
        'SELECT name, via, act, subject, reason FROM hub.audit ORDER BY seq DESC LIMIT 1',
      )
      const { username } = userInfo()
      const by = { name: 'finance', via: `os:${username}`, reason: 'dispute 17' }
      expect(rows[0]).to.deep.equal({ ...by, act: 'export.start', subject: file })
      expect(await verify(), messages.join('')).to.equal(0)
      const text = await readFile(file, 'utf8')
      await writeFile(file, text.replace('"endpoint":0', '"endpoint":7'))
      expect(await verify()).to.equal(1)
      expect(messages.at(-1)).to.match(
        /BAD {2}every row is as it was written: 1, first shard 0 seq/,
      )
      await rm(file)
      expect(await verify()).to.equal(2)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
