import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { exportToFile, NotResumable } from '../../../../core/ledger/export/file.ts'
import { IdSet } from '../../../../core/ledger/export/id-set.ts'
import { planExport } from '../../../../core/ledger/export/plan.ts'
import {
  type ExportPosition,
  FORMATS,
  type FormatName,
  writeExport,
} from '../../../../core/ledger/export/writer.ts'
import type { Ledger } from '../../../../core/ledger/ledger.ts'
import { ledgerCommand } from '../../../../server/commands/ledger/index.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { order, sampleLedger } from '../fixture.ts'

describe('an export to a file', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    database = await freshDatabase()
    const small = await sampleLedger(database.pool)
    ledger = small.ledger
    const calls = Array.from({ length: 1_000 }, () => order(small.owner, small.payee, 7n))
    await Promise.all(calls.map((call) => ledger.reserve(call)))
    await Promise.all(calls.map((call) => ledger.settle(call, 7n)))
  })
  after(async () => {
    await rm(folder, { recursive: true })
    await database.drop()
  })

  const hash = async (file: string): Promise<string> =>
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex')

  /** Returns a pool whose COPY fails after some pages, like a lost connection. */
  function breaking(pages: number): Pool {
    let left = pages
    const connect = async () => {
      const client = await database.pool.connect()
      const query = (first: unknown, ...rest: unknown[]): unknown => {
        const answer = (client.query as (...args: unknown[]) => unknown)(first, ...rest)
        if (typeof first !== 'object') return answer
        const stream = answer as NodeJS.ReadableStream & { destroy(error: Error): void }
        stream.on('data', () => {
          if (--left < 0) stream.destroy(new Error('connection lost'))
        })
        stream.pause()
        return stream
      }
      return { query, release: (broken: boolean) => client.release(broken) }
    }
    return { connect, query: database.pool.query.bind(database.pool) } as unknown as Pool
  }

  for (const format of Object.keys(FORMATS) as FormatName[]) {
    it(`resumes after any part with identical bytes (${format})`, async () => {
      const plan = await planExport(database.pool, {})
      const declared = new IdSet()
      const parts: { text: string; resume: ExportPosition | undefined; saved: string }[] = []
      for await (const part of writeExport(database.pool, format, plan, { declared })) {
        const saved = JSON.stringify(declared)
        parts.push({ text: part.text, resume: part.position, saved })
      }
      const all = parts.map(({ text }) => text).join('')
      expect(parts.some(({ resume }) => resume)).to.equal(true)
      for (const [i, { resume, saved }] of parts.entries()) {
        if (!resume) continue
        const before = parts.slice(0, i + 1)
        let text = before.map((part) => part.text).join('')
        const known = { declared: new IdSet(JSON.parse(saved)), resume }
        for await (const part of writeExport(database.pool, format, plan, known)) text += part.text
        expect(text === all, `after part ${i + 1}`).to.equal(true)
      }
    })
  }

  it('does not end twice if it was interrupted between last byte and rename', async () => {
    const [whole, cut] = [join(folder, 'whole.journal'), join(folder, 'cut.journal')]
    const wanted = { format: 'hledger', order: {}, resume: false, saveEveryBytes: 1 } as const
    await exportToFile(database.pool, whole, wanted)
    await mkdir(cut) // a folder that blocks the rename
    const failure = await exportToFile(database.pool, cut, wanted).catch(
      (error: Error & { code: string }) => error.code,
    )
    expect(failure).to.equal('EISDIR')
    await rm(cut, { recursive: true })
    await exportToFile(database.pool, cut, { ...wanted, resume: true })
    expect(await hash(cut)).to.equal(await hash(whole))
  })

  it('resumes to the same file, which appears when complete', async () => {
    const [whole, cut] = [join(folder, 'whole.csv'), join(folder, 'cut.csv')]
    const wanted = { format: 'csv', order: { range: { to: 1_900n } }, resume: false } as const
    await exportToFile(database.pool, whole, wanted)
    const failure = await exportToFile(breaking(1), cut, { ...wanted, saveEveryBytes: 1 }).catch(
      (error: Error) => error.message,
    )
    expect(failure).to.equal('connection lost')
    expect(await readdir(folder)).to.include.members(['cut.csv.part', 'cut.csv.part.json'])
    expect(await readdir(folder)).to.not.include('cut.csv')
    const other = { ...wanted, format: 'jsonl', resume: true } as const
    await exportToFile(database.pool, cut, other).then(
      () => expect.fail('went on in another format'),
      (error: unknown) => expect(error).to.be.instanceOf(NotResumable),
    )
    const reported: number[] = []
    const progress = (done: number) => reported.push(done)
    await exportToFile(database.pool, cut, { ...wanted, resume: true, progress })
    expect(await hash(cut)).to.equal(await hash(whole))
    expect(reported[0], 'begins where it was cut off').to.be.above(0)
    expect((await readdir(folder)).filter((name) => name.includes('part'))).to.deep.equal([])
  })

  it('cannot be resumed if it was never started', async () => {
    const wanted = { format: 'csv', order: {}, resume: true } as const
    await exportToFile(database.pool, join(folder, 'none.csv'), wanted).then(
      () => expect.fail('went on with nothing'),
      (error: unknown) => expect(error).to.be.instanceOf(NotResumable),
    )
  })

  it('has the same bytes as the output of the command', async () => {
    const messages: string[] = []
    const file = join(folder, 'ledger.csv')
    const args = ['export', '--format', 'csv']
    const connect = async () => database.pool
    expect(await ledgerCommand(connect, args, (text) => messages.push(text))).to.equal(0)
    expect(await ledgerCommand(connect, [...args, '--out', file], () => {})).to.equal(0)
    expect(await readFile(file, 'utf8')).to.equal(messages.join(''))
  })
})
