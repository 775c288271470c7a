import { expect } from 'chai'
import { PgBoss } from 'pg-boss'
import type { JobDeps } from '../../jobs/job.ts'
import { Runner, SUPERVISION } from '../../jobs/runner.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

const NAME = 'a-job'
const { signal } = new AbortController()

describe('a job whose process died during a run', () => {
  let database: FreshDatabase
  const stops: (() => Promise<void>)[] = []
  before(async () => {
    database = await freshDatabase()
  })
  after(async () => {
    for (const stop of stops) await stop()
    await database.drop()
  })

  /** A process as the database sees it: silent once it is dead. */
  async function open(): Promise<{ runner: Runner; die: () => void }> {
    let isDead = false
    const executeSql = async (text: string, values?: unknown[]) => {
      if (isDead) throw new Error('this process is dead')
      return database.admin.query(text, values)
    }
    const boss = new PgBoss({ db: { executeSql }, ...SUPERVISION })
    boss.on('error', () => {})
    await boss.start()
    stops.push(() => boss.stop({ graceful: false }).catch(() => undefined))
    return { runner: new Runner(boss, {} as JobDeps, signal), die: () => (isDead = true) }
  }

  it('is run by another process long before its deadline', async function () {
    this.timeout(120_000)
    const [first, second] = [await open(), await open()]
    const started = Promise.withResolvers<void>()
    const never = new Promise<never>(() => {})
    await first.runner.put(NAME, { everySeconds: 1, run: () => (started.resolve(), never) })
    await started.promise
    first.die()
    const again = Promise.withResolvers<void>()
    await second.runner.put(NAME, { everySeconds: 1, run: async () => again.resolve() })
    await again.promise
    const { rows } = await database.admin.query(
      `SELECT state FROM pgboss.job WHERE name = $1 AND state = 'failed'`,
      [NAME],
    )
    expect(rows, 'the run that never ended').to.have.length(1)
  })
})
