import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import { createPool } from '../../core/db/pool.ts'
import { freePort } from '../../core/runtime/net.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { eventually } from '../support/eventually.ts'
import { startTestHub, type TestHub } from '../support/hub.ts'
import { requirePrograms } from '../support/skip.ts'

const FOLDER = 'server/deploy/prometheus'
/** Jobs run once a minute; reconciliation waits for final blocks. */
const FIRES_MS = 180_000

interface Alerts {
  readonly data: {
    readonly alerts: readonly { readonly labels: { readonly alertname: string } }[]
  }
}

/** A real Prometheus with the rules of the kit, which fire without a wait. */
class Prometheus {
  readonly #folder = mkdtempSync(join(tmpdir(), 'agenthub-test-'))
  #child: ChildProcess | undefined
  #url = ''

  async start(target: string): Promise<void> {
    const port = await freePort()
    this.#url = `http://127.0.0.1:${port}`
    const rules = readFileSync(join(FOLDER, 'alerts.yml'), 'utf8')
    writeFileSync(join(this.#folder, 'alerts.yml'), rules.replaceAll(/for: \d+m/g, 'for: 0s'))
    const settings = readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8')
      .replaceAll(': 15s', ': 3s')
      .replace(/targets: .*/, `targets: ['${target}']`)
    writeFileSync(join(this.#folder, 'prometheus.yml'), settings)
    const args = [
      `--config.file=${join(this.#folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(this.#folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    this.#child = spawn('prometheus', args, { stdio: 'ignore' })
    await eventually(() =>
      fetch(`${this.#url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
  }

  async firing(): Promise<readonly string[]> {
    const { data } = (await (await fetch(`${this.#url}/api/v1/alerts`)).json()) as Alerts
    return data.alerts.map(({ labels }) => labels.alertname)
  }

  async fires(alert: string): Promise<void> {
    let firing: readonly string[] = []
    await eventually(async () => {
      firing = await this.firing()
      return firing.includes(alert)
    }, FIRES_MS).catch(() => expect(firing).to.include(alert))
  }

  stop(): void {
    this.#child?.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The chain of the hub in this process. */
const chainProcess = (): number =>
  Number(execFileSync('pgrep', ['-P', String(process.pid), 'anvil'], { encoding: 'utf8' }))

describe('a real Prometheus with the rules of the kit', function () {
  this.timeout(FIRES_MS + 60_000)
  const prometheus = new Prometheus()
  let hub: TestHub

  before(async function () {
    requirePrograms(this, 'prometheus')
    nock.restore()
    hub = await startTestHub()
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
    const firing = (await prometheus.firing()).filter((name) => name !== 'HubEventLoopSlow')
    expect(firing).to.deep.equal([])
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

  it('fires when no run is recorded: no process runs jobs, or the disk is full', async () => {
    const { admin } = hub.database
    const jobs = "SELECT FROM hub.job_run WHERE job IN ('expire-holds', 'resolve-payments')"
    await eventually(async () => (await admin.query(jobs)).rows.length === 2, FIRES_MS)
    await admin.query(`BEGIN;
      UPDATE hub.job_run SET succeeded_at = succeeded_at - interval '10 minutes';
      ALTER TABLE hub.job_run ADD CONSTRAINT full_disk CHECK (false) NOT VALID;
      COMMIT`)
    await prometheus.fires('HubJobsStopped')
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
