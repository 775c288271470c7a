import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import { createPool } from '../../core/db/pool.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { Random } from '../conservation/random.ts'
import { eventually } from '../support/eventually.ts'
import { startTestHub, type TestHub } from '../support/hub.ts'
import { requirePrograms, skip } from '../support/skip.ts'
import { type Deployment, startAgain, startDeployment } from './recovery/deployment.ts'
import { FIRES_MS, Prometheus } from './rig/prometheus.ts'

/** The chain of the hub in this process. */
const chainProcess = (): number =>
  Number(execFileSync('pgrep', ['-P', String(process.pid), 'anvil'], { encoding: 'utf8' }))

/** Two scrapes and evaluations of the rules. */
const SCRAPES_MS = 32_000

describe('a real Prometheus with the rules of the kit', function () {
  this.timeout(FIRES_MS + 60_000)
  const prometheus = new Prometheus()
  let hub: TestHub

  before(async function () {
    requirePrograms(this, 'prometheus')
    nock.restore()
    hub = await startTestHub({ config: { jobs: true } })
    await prometheus.start(new URL(hub.url).host)
  })
  after(async () => {
    prometheus.stop()
    await hub?.stop()
    await hub?.database.drop()
    nock.activate()
  })

  it('is quiet about a sound hub', async () => {
    const { admin } = hub.database
    await eventually(async () => {
      const { rows } = await admin.query('SELECT FROM hub.reconciliation, ledger.verification')
      return rows.length > 0
    }, FIRES_MS)
    const read = async () =>
      (await prometheus.firing()).filter((name) => name !== 'HubEventLoopSlow')
    // Prometheus may have seen the hub before its first reconciliation.
    await eventually(async () => (await read()).length === 0, SCRAPES_MS).catch(() => {})
    expect(await read()).to.deep.equal([])
  })

  it('fires when gas runs out, and when money comes that no entry explains', async () => {
    const { rpcUrl, wallets, money } = hub.sandbox!
    await callRpc(rpcUrl, 'anvil_setBalance', [wallets.gas.account.address, '0x0'])
    await fund(rpcUrl, money.treasury, { usdc: 1_000_000n })
    await prometheus.fires('HubGasLow')
    await prometheus.fires('HubReconciliationException')
  })

  it('fires when a balance was altered behind the ledger', async () => {
    const { admin } = hub.database
    await admin.query('ALTER TABLE ledger.balance DISABLE TRIGGER ALL')
    await admin.query(
      `UPDATE ledger.balance SET balance = balance + 1
       WHERE account = (SELECT min(account) FROM ledger.balance)`,
    )
    await admin.query('ALTER TABLE ledger.balance ENABLE TRIGGER ALL')
    await prometheus.fires('HubLedgerUnsound')
    await prometheus.fires('HubOutgoingPaused')
  })

  it('fires when the node does not respond', async () => {
    const pid = chainProcess()
    process.kill(pid, 'SIGSTOP')
    try {
      await prometheus.fires('HubChainDown')
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  })

  it('fires when the database refuses connections, and when the hub is gone', async () => {
    const { url } = hub.database
    const name = new URL(url).pathname.slice(1)
    const server = createPool(new URL('/postgres', url).href)
    try {
      await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      await server.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = $1 AND backend_type = 'client backend'`,
        [name],
      )
      await prometheus.fires('HubDatabaseDown')
    } finally {
      await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
      await server.end()
    }
    await hub.stop()
    await prometheus.fires('HubDown')
  })
})

const DISK_BYTES = 1_500 * 2 ** 20

/** A disk of its own for a deployment and its database, in memory. Needs root. */
class SmallDisk {
  readonly folder = mkdtempSync(join(tmpdir(), 'agenthub-disk-'))
  readonly #filler = join(this.folder, 'filler')

  constructor() {
    const options = ['-o', `size=${DISK_BYTES},mode=0711`]
    execFileSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', this.folder])
  }

  /** Fills the disk, except for a share of it. */
  fill(freeShare: number): void {
    const { bavail, bsize, blocks } = statfsSync(this.folder)
    const bytes = Math.floor((bavail - blocks * freeShare) * bsize)
    const present = statSync(this.#filler, { throwIfNoEntry: false })?.size ?? 0
    execFileSync('fallocate', ['--length', String(present + bytes), this.#filler])
  }

  empty(): void {
    rmSync(this.#filler)
  }

  remove(): void {
    execFileSync('umount', ['--lazy', this.folder])
    rmSync(this.folder, { recursive: true })
  }
}

describe('a real Prometheus with the rules of the kit, and real processes', function () {
  this.timeout(4 * FIRES_MS)
  const prometheus = new Prometheus()
  let disk: SmallDisk
  let deployment: Deployment

  before(async function () {
    requirePrograms(this, 'prometheus', 'fallocate', 'mount')
    if (process.getuid?.() !== 0) skip(this, 'needs root to mount a disk')
    nock.restore()
    disk = new SmallDisk()
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = disk.folder
    deployment = await startDeployment(new Random('alerts'))
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    await prometheus.start(new URL(deployment.url).host)
  })
  after(async () => {
    prometheus.stop()
    await deployment?.stop()
    disk?.remove()
    nock.activate()
  })

  const answers = async (): Promise<boolean> =>
    fetch(`${deployment.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )

  it('fires when the process that runs the jobs is killed, until it is started again', async () => {
    await deployment.jobs.kill()
    await prometheus.fires('HubJobsStopped')
    await startAgain(deployment.jobs)
    await prometheus.clears('HubJobsStopped')
  })

  it('fires before a disk is full, and when it is; the hub waits for its database', async () => {
    disk.fill(0.05)
    await prometheus.fires('HubDiskFull')
    expect(await answers()).to.equal(true)
    disk.fill(0)
    await prometheus.fires('HubDatabaseDown')
    disk.empty()
    const { cluster } = deployment
    await cluster.kill()
    await cluster.start()
    await prometheus.clears('HubDiskFull')
    await prometheus.clears('HubDatabaseDown')
    await eventually(answers)
  })
})
