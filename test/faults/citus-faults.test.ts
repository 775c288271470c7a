import { expect } from 'chai'
import type { Pool } from 'pg'
import { sleep } from '../../core/clock.ts'
import { openLogins } from '../../core/db/logins.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { ConfigError } from '../../core/runtime/config-error.ts'
import { clusterCommand } from '../../server/commands/cluster/index.ts'
import { hasCitus, NO_CITUS } from '../support/citus.ts'
import { freshDatabase } from '../support/postgres.ts'
import { skip } from '../support/skip.ts'
import { crash, printReport, runRound } from './bank/round.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { readBooks, replayEntries } from './banks/replay.ts'
import { CitusNodes } from './rig/citus-nodes.ts'
import { type RecurringFault, randomBetween, SECONDS } from './rig/inject-faults.ts'

const AGENTS = 60
const SHARDS = 4
const TEMPLATE = 'distributed'

describe(`A ledger on Citus under ${SECONDS} s of faults`, function () {
  this.timeout(900_000)
  let nodes: CitusNodes

  before(async function () {
    if (!(await hasCitus())) skip(this, NO_CITUS)
    nodes = await CitusNodes.start(2)
    const url = await nodes.databases.createDatabase(TEMPLATE)
    await openLogins({ url, cluster: 'citus', distributes: true })
  })
  after(() => nodes?.remove())

  it('shows a worker that is down to operators, and moves nothing then', async () => {
    const pool = createPool(databaseUrl(nodes.coordinator.url, TEMPLATE), { max: 1 })
    const [worker] = nodes.workers
    await worker!.kill()
    try {
      const { nodes: shown } = JSON.parse(await runCluster(pool, 'status', '--json'))
      const lost = (shown as { isReachable: boolean }[]).filter((each) => !each.isReachable)
      expect(lost).to.have.length(1)
      const refused = await runCluster(pool, 'rebalance').catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(ConfigError)
      expect((refused as Error).message).to.match(/ is unreachable\. Nothing was moved\.$/)
    } finally {
      await worker!.start()
      await pool.end()
    }
  })

  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)]!

  /** Expects that no step is lost, and that one server with the same entries has the same books. */
  async function check(
    name: string,
    describeTimes: (times: readonly number[]) => string,
    faults: (pool: Pool) => readonly RecurringFault[],
  ): Promise<void> {
    await nodes.databases.copyDatabase(TEMPLATE, name)
    const url = databaseUrl(nodes.coordinator.url, name)
    await openLogins({ url, cluster: 'citus', distributes: true })
    const pool = createPool(url, { max: 2, statementMs: 0 })
    const plain = await freshDatabase()
    try {
      const bank = await openLedgerBank(url, AGENTS, SHARDS)
      const plan = { agents: AGENTS, callers: 64, seconds: SECONDS, faults: () => faults(pool) }
      const report = await runRound(bank, plan)
      printReport(report, describeTimes(report.times))
      expect(report.violations).to.deep.equal([])
      await replayEntries(report.state.entries, await openLedgerBank(plain.url, AGENTS, SHARDS))
      const [own, other] = [await readBooks(url), await readBooks(plain.url)]
      const at = own.findIndex((line, index) => line !== other[index])
      expect([own[at], own.length], `line ${at}`).to.deep.equal([other[at], other.length])
    } finally {
      await pool.end()
      await plain.drop()
    }
  }

  it('keeps every acknowledged step when workers and the coordinator are killed', () =>
    check(
      'killed',
      ([workers, coordinators]) =>
        `${workers} kills of workers, ${coordinators} of the coordinator`,
      () => [
        { pause: randomBetween(1_000, 6_000), act: () => crash(oneOf(nodes.workers)) },
        { pause: randomBetween(4_000, 10_000), act: () => crash(nodes.coordinator) },
      ],
    ))

  it('keeps every acknowledged step while shards move and the cluster is rebalanced', () =>
    check(
      'moved',
      ([moves]) => `${moves} moves and rebalances`,
      (pool) => [
        {
          pause: () => 500,
          act: async () => {
            const { host } = new URL(oneOf(nodes.workers).url)
            await runCluster(pool, 'move', `${Math.floor(Math.random() * SHARDS)}`, host)
            await runCluster(pool, 'rebalance')
          },
        },
      ],
    ))

  it('keeps every acknowledged step while workers are cut off from the coordinator', () =>
    check(
      'partitioned',
      ([times]) => `${times} partitions`,
      () => [
        {
          pause: randomBetween(1_000, 3_000),
          act: async () => {
            const { proxy } = oneOf(nodes.workers)
            proxy.freeze()
            await sleep(randomBetween(500, 6_000)())
            if (Math.random() < 0.5) proxy.cut()
            proxy.thaw()
          },
        },
      ],
    ))
})

/** Runs a command that succeeds. @returns its output */
async function runCluster(pool: Pool, ...args: readonly string[]): Promise<string> {
  let output = ''
  const write = (text: string) => void (output += text)
  expect(await clusterCommand(async () => pool, args, write), output).to.equal(0)
  return output
}
