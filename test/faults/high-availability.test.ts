import { expect } from 'chai'
import nock from 'nock'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { ask } from '../support/ask.ts'
import { requirePrograms, skip } from '../support/skip.ts'
import { findLostSteps } from './bank/lost-steps.ts'
import { emptyDatabase } from './bank/round.ts'
import { BankWorkers } from './bank/workers.ts'
import { Workload } from './bank/workload.ts'
import type { BankSpec } from './banks/index.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { CallLoad, createFundedAgents } from './rig/call-load.ts'
import type { DatabaseMachine } from './rig/database-machine.ts'
import { HubProcess } from './rig/hub.ts'
import { measureOutage } from './rig/outage.ts'
import { PatroniCluster } from './rig/patroni.ts'

const OVER_MS = 30_000
/** Time without a successful read, while reads of a replica go on. */
const READS_MS = 10_000
const AGENTS = 12
const CALLERS = 16

/** Reads the catalog within its rate limit, and measures the longest time without a success. */
class CatalogReader {
  longestMs = 0
  #hasEnded = false
  readonly #reading: Promise<void>

  constructor(hub: HubProcess) {
    this.#reading = this.#read(hub)
  }

  async stop(): Promise<void> {
    this.#hasEnded = true
    await this.#reading
  }

  async #read(hub: HubProcess): Promise<void> {
    for (let last = elapsedMs(); !this.#hasEnded; await sleep(400)) {
      const { status } = await ask(hub.url, '/v1/services')
      this.longestMs = Math.max(this.longestMs, elapsedMs() - last)
      if (status === 200) last = elapsedMs()
    }
  }
}

/** Patroni with the files that operators are given. */
describe('Three database machines under Patroni, with etcd and HAProxy', function () {
  this.timeout(600_000)
  let cluster: PatroniCluster
  let spec: BankSpec
  let workers: BankWorkers
  let workload: Workload
  let hub: HubProcess
  let pool: Pool
  let calls: CallLoad
  let reader: CatalogReader

  before(async function () {
    requirePrograms(this, 'patroni', 'etcd', 'haproxy', '/usr/lib/postgresql/15/bin/postgres')
    if (process.getuid?.() !== 0) skip(this, 'needs root')
    nock.restore()
    cluster = await PatroniCluster.start()
    const hubs = await emptyDatabase(cluster, 'agenthub')
    spec = await openLedgerBank(await emptyDatabase(cluster, 'bank'), AGENTS)
    workers = new BankWorkers(spec, 2)
    workload = new Workload(workers, AGENTS)
    hub = await HubProcess.create(hubs, {
      DATABASE_REPLICA_URL: cluster.replicaUrl,
      DATABASE_REPLICA_SECONDS: '60',
    })
    await hub.start()
    pool = createPool(hubs, { role: 'hub_finance' })
    const agents = await createFundedAgents(2, hub, new Ledger(pool))
    calls = new CallLoad(hub, agents, 1)
    reader = new CatalogReader(hub)
    await workload.start(CALLERS)
  })
  after(async () => {
    await Promise.all([workers?.stop(), reader?.stop(), calls?.finish()])
    await hub?.remove()
    await pool?.end()
    await cluster?.remove()
    nock.activate()
  })

  /** Expects that the bank responds again in time, then repairs what the fault has broken. */
  async function expectShortOutage(
    inject: () => Promise<void>,
    isOver: () => Promise<boolean>,
  ): Promise<void> {
    reader.longestMs = 0
    const outageMs = await measureOutage(() => workers.responses, inject, isOver)
    process.stdout.write(
      `      over after ${seconds(outageMs)} s; reads paused for ${seconds(reader.longestMs)} s\n`,
    )
    await cluster.repair()
    expect(outageMs, 'milliseconds without a response').to.be.below(OVER_MS)
    expect(reader.longestMs, 'milliseconds without a read').to.be.below(READS_MS)
  }

  /** Injects a fault into the primary, which ends when another machine is the primary. */
  async function expectFailover(inject: (primary: DatabaseMachine) => Promise<void>) {
    const primary = (await cluster.machineOf('leader'))!
    await expectShortOutage(
      () => inject(primary),
      async () => ![undefined, primary].includes(await cluster.machineOf('leader')),
    )
  }

  it('replace a primary whose machine dies', () => expectFailover((primary) => primary.kill()))

  it('replace a primary that crashes', () => expectFailover((primary) => primary.killPostgres()))

  it('replace a primary that goes on without Patroni', () =>
    expectFailover((primary) => primary.killPatroni()))

  it('switch over when an operator asks for it', () =>
    expectFailover(async (primary) => primary.switchOver()))

  it('replace a synchronous standby that dies', async () => {
    const standby = (await cluster.machineOf('sync_standby'))!
    await expectShortOutage(
      () => standby.kill(),
      async () => ![undefined, standby].includes(await cluster.machineOf('sync_standby')),
    )
  })

  it('go on without the leader of etcd', async () => {
    const leader = (await cluster.etcdLeader())!
    await expectShortOutage(
      () => leader.killEtcd(),
      async () => ![undefined, leader].includes(await cluster.etcdLeader()),
    )
  })

  it('go on when HAProxy dies and systemd restarts it', async () => {
    await expectShortOutage(
      async () => {
        await cluster.killProxy()
        await sleep(100) // RestartSec of systemd
        cluster.startProxy()
      },
      async () => true,
    )
  })

  it('have lost no acknowledged step of the bank', async () => {
    expect(await findLostSteps(spec, workers, workload)).to.deep.equal([])
  })

  it('have lost no call of a hub, which answered 200 or 503 throughout', async () => {
    await calls.finish()
    const { charged, problems, lost } = calls
    const refused = [...problems].map(([code, count]) => `${count} × ${code}`).join(', ')
    process.stdout.write(`      ${charged.size} calls acknowledged; refused: ${refused}\n`)
    const { rows } = await pool.query<{ id: string; amount: bigint }>(
      'SELECT id, amount FROM ledger.journal WHERE kind = 2',
    )
    const settled = new Map(rows.map(({ id, amount }) => [id, amount]))
    for (const [id, amount] of charged) expect(settled.get(id), id).to.equal(amount)
    expect([...hub.errors, ...calls.errors]).to.deep.equal([])
    expect([...problems.keys()]).to.deep.equal(['service_unavailable'])
    expect(lost).to.equal(0)
    const { checks } = await verifyLedger(pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  })
})

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
