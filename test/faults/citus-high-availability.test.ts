import { expect } from 'chai'
import nock from 'nock'
import { openLogins } from '../../core/db/logins.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { hasCitus, NO_CITUS } from '../support/citus.ts'
import { requirePrograms, skip } from '../support/skip.ts'
import { findLostSteps } from './bank/lost-steps.ts'
import { BankWorkers } from './bank/workers.ts'
import { Workload } from './bank/workload.ts'
import type { BankSpec } from './banks/index.ts'
import { openLedgerBank } from './banks/ledger.ts'
import type { DatabaseMachine } from './rig/database-machine.ts'
import { measureOutage } from './rig/outage.ts'
import { PatroniCluster } from './rig/patroni.ts'

const OVER_MS = 30_000
const AGENTS = 12
const CALLERS = 16
const SHARDS = 4
const [COORDINATOR, WORKER] = [0, 1]

/** Patroni with the files that operators are given: it tells Citus where each primary is. */
describe('A coordinator and a worker of Citus under Patroni, three machines each', function () {
  this.timeout(600_000)
  let cluster: PatroniCluster
  let spec: BankSpec
  let workers: BankWorkers
  let workload: Workload

  before(async function () {
    if (!(await hasCitus())) skip(this, NO_CITUS)
    requirePrograms(this, 'patroni', 'etcd', 'haproxy')
    if (process.getuid?.() !== 0) skip(this, 'needs root')
    nock.restore()
    cluster = await PatroniCluster.start(1)
    const url = databaseUrl(cluster.url, 'agenthub')
    await openLogins({ url, cluster: 'citus', distributes: true })
    spec = await openLedgerBank(url, AGENTS, SHARDS)
    workers = new BankWorkers(spec, 2)
    workload = new Workload(workers, AGENTS)
    await workload.start(CALLERS)
  })
  after(async () => {
    await workers?.stop()
    await cluster?.remove()
    nock.activate()
  })

  /** Expects that another machine of a group takes a role in time, then repairs the group. */
  async function expectReplacement(
    group: number,
    role: 'leader' | 'sync_standby',
    inject: (machine: DatabaseMachine) => Promise<void>,
  ): Promise<void> {
    const lost = (await cluster.machineOf(role, group))!
    const outageMs = await measureOutage(
      () => workers.responses,
      () => inject(lost),
      async () => ![undefined, lost].includes(await cluster.machineOf(role, group)),
    )
    process.stdout.write(`      over after ${(outageMs / 1_000).toFixed(1)} s\n`)
    await cluster.repair()
    expect(outageMs, 'milliseconds without a response').to.be.below(OVER_MS)
  }

  for (const [name, group] of [
    ['worker', WORKER] as const,
    ['coordinator', COORDINATOR] as const,
  ]) {
    it(`replaces a ${name} whose machine dies`, () =>
      expectReplacement(group, 'leader', (primary) => primary.kill()))

    it(`replaces a ${name} that crashes`, () =>
      expectReplacement(group, 'leader', (primary) => primary.killPostgres()))

    it(`replaces a ${name} that goes on without Patroni`, () =>
      expectReplacement(group, 'leader', (primary) => primary.killPatroni()))

    it(`moves a ${name} when an operator asks for it`, () =>
      expectReplacement(group, 'leader', (primary) => primary.switchOver()))

    it(`replaces a synchronous standby of a ${name} that dies`, () =>
      expectReplacement(group, 'sync_standby', (standby) => standby.kill()))
  }

  it('loses no acknowledged step', async () => {
    expect(await findLostSteps(spec, workers, workload)).to.deep.equal([])
  })
})
