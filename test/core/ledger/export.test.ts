import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { csvLine, exportCsv } from '../../../core/ledger/export/csv.ts'
import { exportHledger } from '../../../core/ledger/export/hledger.ts'
import { formatUnits } from '../../../core/ledger/export/journal.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { ledgerCommand } from '../../../server/ledger/index.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, order, smallBooks } from './world.ts'

const run = promisify(execFile)

describe('the exports of the books', function () {
  this.timeout(30_000)
  let database: FreshDatabase
  let books: Ledger
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    database = await freshDatabase()
    const small = await smallBooks(database.pool)
    books = small.books
    const { owner, payee } = small
    const treasury = await books.account('assets:usdc:base:treasury')
    const effectiveAt = new Date('2026-11-02T03:04:05.678Z')
    await books.post(
      { type: 'receipt.confirmed', amount: micros(1_000_000n) },
      { owner: treasury, id: newId(), effectiveAt },
    )
    // More than one page of entries.
    const calls = Array.from({ length: 1_200 }, () => order(owner, payee, 7n))
    await Promise.all(calls.map((call) => books.reserve(call)))
    await Promise.all(calls.map((call) => books.settle(call, 7n)))
  })
  after(async () => {
    await rm(folder, { recursive: true })
    await database.drop()
  })

  const whole = async (chunks: AsyncIterable<string>): Promise<string> => {
    let text = ''
    for await (const chunk of chunks) text += chunk
    return text
  }

  const lines = async (chunks: AsyncIterable<string>): Promise<string[]> =>
    (await whole(chunks)).split('\r\n').slice(0, -1)

  it('have every posting once, in the order of the journal, exactly', async () => {
    const [header, ...rows] = await lines(exportCsv(database.pool))
    expect(header).to.equal('shard,seq,at_utc,id,event,account,asset,debit,credit')
    const { rows: postings } = await database.pool.query<{ line: string }>(
      `SELECT concat_ws(',', p.shard, p.seq, p.id, p.event, p.account, p.asset, p.amount) AS line
       FROM ledger.posting p ORDER BY p.shard, p.seq, p.n`,
    )
    const exported = rows.map((row) => {
      const [shard, seq, at, id, event, account, asset, debit, credit] = row.split(',')
      expect(at).to.match(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      expect(debit === '').to.not.equal(credit === '')
      const units = BigInt((debit! + credit!).replace('.', ''))
      expect(asset === 'FREECALL').to.equal(!/\.\d{6}$/.test(debit! + credit!))
      return [shard, seq, id, event, account, asset, debit ? -units : units].join(',')
    })
    expect(exported).to.deep.equal(postings.map(({ line }) => line))
  })

  it('are the same bytes for the same range, and ranges add up to the whole', async () => {
    const all = await whole(exportCsv(database.pool))
    expect(await whole(exportCsv(database.pool))).to.equal(all)
    const [, ...first] = await lines(exportCsv(database.pool, { to: 1_111n }))
    const [, ...second] = await lines(exportCsv(database.pool, { from: 1_112n, shard: 0 }))
    expect([...first, ...second]).to.deep.equal((await lines(exportCsv(database.pool))).slice(1))
    expect(await lines(exportCsv(database.pool, { shard: 1 }))).to.have.length(1)
    expect(await lines(exportCsv(database.pool, { from: 10n ** 12n }))).to.have.length(1)
    const range = { from: 3n, to: 40n }
    const journal = await whole(exportHledger(database.pool, range))
    expect(await whole(exportHledger(database.pool, range))).to.equal(journal)
  })

  it('keep to their snapshot beside new entries, and give their connection back', async () => {
    const before = await whole(exportHledger(database.pool))
    const chunks = exportHledger(database.pool)[Symbol.asyncIterator]()
    let text: string = (await chunks.next()).value
    const id = newId()
    const treasury = await books.account('assets:usdc:base:treasury')
    await books.post(
      { type: 'balance.opened', account: treasury.code, amount: micros(5n) },
      { owner: treasury, id },
    )
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) text += next.value
    expect(text).to.equal(before)
    for await (const _ of exportCsv(database.pool)) break // a reader that goes away early
    expect(database.pool.totalCount - database.pool.idleCount).to.equal(0)
    expect(await whole(exportCsv(database.pool))).to.include(id)
  })

  it('quote cells as RFC 4180 says, and disarm formulas', () => {
    const line = csvLine(['a,b', 'say "x"', 'two\r\nlines', '', 'plain'])
    expect(line).to.equal('"a,b","say ""x""","two\r\nlines",,plain\r\n')
    const formulas = ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\tx', '\rx']
    expect(formulas.map((cell) => csvLine([cell, '']).replaceAll('"', ''))).to.deep.equal(
      formulas.map((cell) => `'${cell},\r\n`),
    )
    expect(csvLine(['-0.000005', '+7', '12'])).to.equal('-0.000005,+7,12\r\n')
    expect(csvLine(['-', '1=2', '-5\n'])).to.equal(`'-,1=2,"'-5\n"\r\n`)
  })

  it('write units with all decimals of the asset', () => {
    expect(formatUnits(-5n, 6)).to.equal('-0.000005')
    expect(formatUnits(12_345_678n, 6)).to.equal('12.345678')
    expect(formatUnits(2n ** 63n - 1n, 6)).to.equal('9223372036854.775807')
    expect(formatUnits(-15n, 0)).to.equal('-15')
    expect(formatUnits(0n, 6)).to.equal('0.000000')
  })

  it('write transactions of hledger debit-positive, with the id and the time outside', async () => {
    const journal = await whole(exportHledger(database.pool))
    const [first] = journal.split('\n\n').filter((part) => part.includes('(0/1)'))
    const [head, debit, credit] = first!.split('\n')
    expect(head).to.match(/^\d{4}-\d\d-\d\d \* \(0\/1\) credits\.purchased  ; id:[0-9a-f-]{36}$/)
    expect(debit).to.equal('    assets:usdc:base:in-transit  1.000000 USDC')
    expect(credit).to.match(/^    liabilities:agents:key_\d+:credits  -1\.000000 USDC$/)
    expect(journal).to.match(/; id:[0-9a-f-]{36}, effective:2026-11-02T03:04:05\.678000Z\n/)
    expect(journal).to.match(/\n {4}equity:free-calls:granted {2}15 FREECALL\n/)
    expect(journal).to.match(/\n {4}liabilities:holds {2}0\.000000 USDC == -0\.005003 USDC\n/)
    const part = await whole(exportHledger(database.pool, { to: 5n }))
    expect(part).to.not.include('==') // balances are those of the whole
  })

  it('satisfy `hledger check --strict`, which finds a changed microdollar', async function () {
    const found = await run('hledger', ['--version']).catch(() => undefined)
    if (!found) {
      process.stdout.write('      hledger is not installed: apt-get install hledger\n')
      return this.skip()
    }
    const file = join(folder, 'books.journal')
    const args = ['export', '--format', 'hledger', '--out', file]
    expect(await ledgerCommand(async () => database.pool, args, () => {})).to.equal(0)
    await run('hledger', ['-f', file, 'check', '--strict'])
    await writeFile(
      join(folder, 'part.journal'),
      exportHledger(database.pool, { from: 9n, to: 30n }),
    )
    await run('hledger', ['-f', join(folder, 'part.journal'), 'check', '--strict'])
    const sound = await readFile(file, 'utf8')
    for (const [was, is] of [
      ['-0.000007 USDC', '-0.000008 USDC'], // an entry that is not balanced
      ['== -0.005003 USDC', '== -0.005004 USDC'], // a balance that the journal does not give
    ] as const) {
      await writeFile(file, sound.replace(was, is))
      const failure = await run('hledger', ['-f', file, 'check', '--strict']).catch(
        (error: Error & { code: number }) => error.code,
      )
      expect(failure, is).to.equal(1)
    }
  })

  it('go to the standard output or to a file that appears when it is whole', async () => {
    const said: string[] = []
    const file = join(folder, 'books.csv')
    const csv = ['export', '--format', 'csv']
    expect(await ledgerCommand(async () => database.pool, csv, (text) => said.push(text))).to.equal(0)
    expect(await ledgerCommand(async () => database.pool, [...csv, '--out', file], () => {})).to.equal(0)
    expect(await readFile(file, 'utf8')).to.equal(said.join(''))
  })
})
