import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import { sleep } from '../../../core/clock.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { askLiveness } from '../../support/steady-load.ts'
import { REAL_MONEY } from './real-money.ts'

const TOKEN = 'kD83hfQz0aLr7TnWm2xVbC95'

/** Module with which the first worker leaves a rejection unhandled before its hub is open. */
const LEAK = `data:text/javascript,${encodeURIComponent(`
  import cluster from 'node:cluster'
  const timer = setInterval(() => {
    if (cluster.worker?.id !== 1 || process.listenerCount('uncaughtException') === 0) return
    clearInterval(timer)
    void Promise.reject(new Error('planted'))
  }, 5).unref()`)}`

describe('a hub with real money and two workers', function () {
  this.timeout(180_000)
  let database: FreshDatabase
  let dataDir: string
  let child: ChildProcess
  let logged: string
  let port: number
  before(() => nock.restore())
  after(() => nock.activate())
  beforeEach(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  afterEach(async () => {
    if (child.exitCode === null) {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    }
    await database.drop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 })
  })

  /** Starts the hub, and waits until one of its workers serves. */
  async function serve(...options: readonly string[]): Promise<void> {
    port = await freePort()
    logged = ''
    child = spawn(process.execPath, [...options, 'server/main.ts', 'serve'], {
      env: {
        PATH: '/usr/bin:/bin',
        HUB_DATA_DIR: dataDir,
        HUB_PORT: String(port),
        HUB_WORKERS: '2',
        HUB_DRAIN_DELAY: '0',
        HUB_METRICS_TOKEN: TOKEN,
        DATABASE_URL: database.url,
        ...REAL_MONEY,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr!.on('data', (chunk: Buffer) => (logged += chunk.toString()))
    while ((await askLiveness(port)) !== 200 && child.exitCode === null) await sleep(10)
    expect(child.exitCode, logged).to.equal(null)
  }
  /** Returns the metrics; nothing if the worker that was asked has just ended. */
  const metrics = (): Promise<string> =>
    ask(`http://127.0.0.1:${port}`, '/metrics', { key: TOKEN }).then(
      ({ text }) => text,
      () => '',
    )

  it('runs its jobs, answers what it was asked before, and ends with 0', async () => {
    await serve()
    const early = await ask(`http://127.0.0.1:${port}`, '/v1/services')
    expect(early.status).to.equal(200)
    await eventually(async () => {
      const { rows } = await database.admin.query(
        `SELECT FROM hub.job_run WHERE job IN ('expire-holds', 'snapshot-ledger')`,
      )
      return rows.length === 2
    }, 60_000)
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exit, logged).to.deep.equal([0, null])
  })

  it('replaces and counts a worker that fails before the primary process hears it', async () => {
    await serve('--import', LEAK)
    await eventually(() => /"worker":\d+,"code":1/.test(logged), 60_000)
    await eventually(async () =>
      (await metrics()).includes('hub_unhandled_errors_total{origin="unhandledRejection"} 1'),
    )
    expect(logged).to.include('planted')
    expect(await askLiveness(port)).to.equal(200)
  })
})
