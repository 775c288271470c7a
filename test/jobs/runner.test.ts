import { once } from 'node:events'
import { expect } from 'chai'
import { PgBoss } from 'pg-boss'
import { sleep } from '../../core/clock.ts'
import { createLog } from '../../core/log.ts'
import type { JobDeps } from '../../jobs/job.ts'
import { Runner, SUPERVISION } from '../../jobs/runner.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

const NAME = 'a-job'
const { signal } = new AbortController()

describe('the runner of jobs', () => {
  let database: FreshDatabase
  let stops: (() => Promise<void>)[]
  beforeEach(async () => {
    stops = []
    database = await freshDatabase()
  })
  afterEach(async () => {
    for (const stop of stops) await stop()
    await database.drop()
  })

  /** A process as the database sees it: silent once it is dead. */
  async function open() {
    let isDead = false
    const pending = { count: 0, max: 0 }
    const statements: string[] = []
    const failures: [RegExp, string][] = []
    const executeSql = async (text: string, values?: unknown[]) => {
      if (isDead) throw new Error('this process is dead')
      statements.push(text)
      const failing = failures.findIndex(([pattern]) => pattern.test(text))
      if (failing !== -1) throw new Error(failures.splice(failing, 1)[0]![1])
      pending.max = Math.max(pending.max, ++pending.count)
      return database.admin.query(text, values).finally(() => pending.count--)
    }
    const boss = new PgBoss({ db: { executeSql }, ...SUPERVISION })
    boss.on('error', () => {})
    await boss.start()
    stops.push(() => boss.stop({ graceful: false }).catch(() => undefined))
    const deps = { pool: database.pool, log: createLog('silent') } as JobDeps
    const runner = new Runner(boss, deps, signal)
    const die = () => (isDead = true)
    const fail = (pattern: RegExp, message: string) => failures.push([pattern, message])
    return { runner, pending, statements, fail, die, revive: () => (isDead = false) }
  }

  it('starts all jobs at once, and creates each queue only once', async () => {
    const names = Array.from({ length: 10 }, (_, n) => `idle-${n}`)
    const idle = { everySeconds: 3_600, run: async () => {} }
    const [first, second] = [await open(), await open()]
    for (const { runner, statements, pending } of [first, second]) {
      statements.length = 0
      await runner.put(Object.fromEntries(names.map((name) => [name, idle])))
      expect(pending.max).to.be.at.least(names.length)
    }
    const created = [first, second].map(
      ({ statements }) => statements.filter((text) => text.includes('.create_queue(')).length,
    )
    expect(created).to.deep.equal([names.length, 0])
  })

  it('starts while the database is too busy for a job, but not if it refuses one', async () => {
    const { runner, fail } = await open()
    const run = async () => {}
    for (const statement of [
      /FROM pgboss\.queue/,
      /\.create_queue\(/,
      /INTO pgboss\.job/,
      /INTO pgboss\.schedule/,
    ]) {
      fail(statement, 'timeout exceeded when trying to connect')
    }
    await runner.put({ [NAME]: { everySeconds: 3_600, run } })
    const { rows } = await database.admin.query('SELECT name FROM pgboss.schedule')
    expect(rows).to.deep.equal([{ name: NAME }])
    fail(/\.create_queue\(/, 'permission denied')
    const refused = runner.put({ other: { everySeconds: 3_600, run } })
    expect(await refused.catch((error: Error) => error.message)).to.equal('permission denied')
  })

  it('runs the job of a process that died, long before its deadline', async () => {
    const [first, second] = [await open(), await open()]
    const started = Promise.withResolvers<void>()
    const never = new Promise<never>(() => {})
    await first.runner.put({
      [NAME]: { everySeconds: 1, run: () => (started.resolve(), never) },
    })
    await started.promise
    first.die()
    const again = Promise.withResolvers<void>()
    await second.runner.put({
      [NAME]: { everySeconds: 1, run: async () => again.resolve() },
    })
    await again.promise
    const { rows } = await database.admin.query(
      `SELECT state FROM pgboss.job WHERE name = $1 AND state = 'failed'`,
      [NAME],
    )
    expect(rows, 'the run that never ended').to.have.length(1)
  })

  it('stops a run that another process has taken over, once it can know', async () => {
    const [first, second] = [await open(), await open()]
    const started = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<void>()
    const untilStopped = async (_: JobDeps, stopping: AbortSignal) => {
      started.resolve()
      await once(stopping, 'abort')
      stopped.resolve()
    }
    await first.runner.put({ [NAME]: { everySeconds: 1, run: untilStopped } })
    await started.promise
    first.die() // the connections of this process alone, as in a failover
    const again = Promise.withResolvers<void>()
    await second.runner.put({ [NAME]: { everySeconds: 3_600, run: async () => again.resolve() } })
    await again.promise
    first.revive()
    await stopped.promise
  })

  it('runs a job again soon that ended while the database was out of reach', async () => {
    const { runner, die, revive } = await open()
    const [first, again] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let runs = 0
    const run = async () => {
      if (++runs > 1) return again.resolve()
      die()
      first.resolve()
    }
    await runner.put({ [NAME]: { everySeconds: 1, run } })
    await first.promise
    await sleep(3_000)
    revive()
    await again.promise
  })
})
