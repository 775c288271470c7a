import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { PgBoss } from 'pg-boss'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { openAgent, openProvider, order } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { EXPIRE_SECONDS, QUEUE, SUPERVISE_SECONDS, type Word } from './rig/settle-job.ts'

const PROGRAM = new URL('./rig/settler.ts', import.meta.url)
const CREDITS = 10_000n
const PRICE = 4_000
/** Supervision looks once in its interval, the worker twice a second; the rest is slowness. */
const AGAIN_MS = (EXPIRE_SECONDS + SUPERVISE_SECONDS + 1) * 1_000 + 10_000

/** Case A074. Between finding and settling, and between settling and completing the job. */
describe('A worker killed in the middle of a job that settles', () => {
  let database: FreshDatabase
  let boss: PgBoss
  let books: Ledger
  const children: ChildProcess[] = []

  before(async () => {
    database = await freshDatabase()
    books = new Ledger(database.pool)
    boss = new PgBoss({ connectionString: database.url, supervise: false, schedule: false })
    boss.on('error', () => {})
    await boss.start()
    await boss.createQueue(QUEUE, { expireInSeconds: EXPIRE_SECONDS, retryLimit: 3 })
  })
  afterEach(async () => {
    await Promise.all(children.splice(0).map(kill))
  })
  after(async () => {
    await boss?.stop({ graceful: false })
    await database.drop()
  })

  interface Settler {
    readonly child: ChildProcess
    /** Resolves when it has said this. */
    heard(word: Word): Promise<void>
    readonly words: Word[]
  }

  function settler(...args: string[]): Settler {
    const child = fork(PROGRAM, [database.url, ...args], { execArgv: [], env: {} })
    children.push(child)
    const words: Word[] = []
    child.on('message', (word: Word) => words.push(word))
    const heard = async (word: Word): Promise<void> => {
      for (const end = elapsedMs() + AGAIN_MS; elapsedMs() < end; await sleep(20)) {
        if (words.includes(word)) return
      }
      throw new Error(`not heard: ${word}, but ${words.join()}`)
    }
    return { child, words, heard }
  }

  async function run(stopAt: Word, then: Word): Promise<void> {
    const owner = await openAgent(books, CREDITS)
    const call = order(owner, await openProvider(books, 'acme'), 5_000n)
    await books.reserve(call)
    const first = settler(stopAt)
    const id = await boss.send(QUEUE, { call: call.call, owner: owner.code, charged: PRICE })
    await first.heard(stopAt)
    const second = settler()
    await second.heard('ready')
    const killed = elapsedMs()
    await kill(first.child)
    await second.heard(then)
    const took = elapsedMs() - killed
    process.stdout.write(`      taken up again ${(took / 1_000).toFixed(1)} s after the kill\n`)
    for (const end = elapsedMs() + AGAIN_MS; elapsedMs() < end; await sleep(50)) {
      if ((await boss.findJobs(QUEUE, { id: id! }))[0]?.state === 'completed') break
    }
    expect((await boss.findJobs(QUEUE, { id: id! }))[0]?.state).to.equal('completed')
    const { rows } = await database.pool.query<{ kind: number; amount: bigint }>(
      'SELECT kind, amount FROM ledger.journal WHERE id = $1 ORDER BY phase',
      [call.call],
    )
    expect(rows).to.deep.equal([
      { kind: 1, amount: 5_000n },
      { kind: 2, amount: BigInt(PRICE) },
    ])
    expect(await books.balance(owner.code)).to.equal(CREDITS - BigInt(PRICE))
    expect(await books.balance('liabilities:holds')).to.equal(0n)
    const { ok } = await verifyLedger(database.pool)
    expect(ok).to.equal(true)
  }

  it('before it settled: another one takes the job up, and settles once', () =>
    run('found open', 'applied'))

  it('after it settled: another one takes the job up, and learns that it is done', () =>
    run('applied', 'replayed'))
})

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
