import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { PgBoss } from 'pg-boss'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { openAgent, openProvider, order } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { EXPIRE_SECONDS, QUEUE, SUPERVISE_SECONDS, type WorkerMessage } from './rig/settle-job.ts'

const PROGRAM = new URL('./rig/settle-worker.ts', import.meta.url)
const CREDITS = 10_000n
const PRICE = 4_000
/**
 * Upper limit for a retry: job expiry, supervision interval, polling interval and 10 s for slow
 * machines.
 */
const RETRY_MS = (EXPIRE_SECONDS + SUPERVISE_SECONDS + 1) * 1_000 + 10_000

/**
 * The worker is killed between finding and settling the hold, and between settling and completing
 * the job.
 */
describe('A settle job whose worker is killed', () => {
  let database: FreshDatabase
  let boss: PgBoss
  let ledger: Ledger
  const children: ChildProcess[] = []

  before(async () => {
    database = await freshDatabase()
    ledger = new Ledger(database.pool)
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

  interface SettleWorker {
    readonly child: ChildProcess
    /** Resolves when the worker has sent this message. */
    waitFor(message: WorkerMessage): Promise<void>
    readonly messages: WorkerMessage[]
  }

  function startSettleWorker(...args: string[]): SettleWorker {
    const child = fork(PROGRAM, [database.url, ...args], { execArgv: [], env: {} })
    children.push(child)
    const messages: WorkerMessage[] = []
    child.on('message', (message: WorkerMessage) => messages.push(message))
    const waitFor = async (message: WorkerMessage): Promise<void> => {
      for (const end = elapsedMs() + RETRY_MS; elapsedMs() < end; await sleep(20)) {
        if (messages.includes(message)) return
      }
      throw new Error(`message ${message} not received, only ${messages.join()}`)
    }
    return { child, messages, waitFor }
  }

  async function run(stopAt: WorkerMessage, then: WorkerMessage): Promise<void> {
    const owner = await openAgent(ledger, CREDITS)
    const call = order(owner, await openProvider(ledger, 'acme'), 5_000n)
    await ledger.reserve(call)
    const first = startSettleWorker(stopAt)
    const id = await boss.send(QUEUE, { call: call.call, owner: owner.code, charged: PRICE })
    await first.waitFor(stopAt)
    const second = startSettleWorker()
    await second.waitFor('ready')
    const killed = elapsedMs()
    await kill(first.child)
    await second.waitFor(then)
    const took = elapsedMs() - killed
    process.stdout.write(`      taken over ${(took / 1_000).toFixed(1)} s after the kill\n`)
    for (const end = elapsedMs() + RETRY_MS; elapsedMs() < end; await sleep(50)) {
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
    expect(await ledger.balance(owner.code)).to.equal(CREDITS - BigInt(PRICE))
    expect(await ledger.balance('liabilities:holds')).to.equal(0n)
    const { ok } = await verifyLedger(database.pool)
    expect(ok).to.equal(true)
  }

  it('is taken over and settled once if the worker had not settled', () =>
    run('found open', 'applied'))

  it('is taken over and reported as replayed if the worker had settled', () =>
    run('applied', 'replayed'))
})

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
