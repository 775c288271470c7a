import { expect } from 'chai'
import { crash, printReport, runRound } from './bank/round.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { Cluster } from './rig/cluster.ts'
import { randomBetween, SECONDS } from './rig/inject-faults.ts'

const AGENTS = 60

/** Several ledger processes and a database are killed, without the HTTP server. */
describe(`The ledger under ${SECONDS} s of kills of its workers and PostgreSQL`, () => {
  let cluster: Cluster

  before(async () => {
    cluster = await Cluster.create()
    await cluster.start()
  })
  after(() => cluster.remove())

  it('keeps every acknowledged step, and no process exits by itself', async () => {
    const report = await runRound(await openLedgerBank(cluster.url, AGENTS), {
      agents: AGENTS,
      callers: 256,
      seconds: SECONDS,
      faults: (workers) => [
        { pause: () => 2_000, act: () => workers.kill() },
        {
          pause: randomBetween(1_000, 6_000),
          act: () => (Math.random() < 0.6 ? crash(cluster) : cluster.killBackend()),
        },
        { pause: randomBetween(500, 4_000), act: async () => cluster.proxy.cut() },
      ],
    })
    const [kills, crashes, cuts] = report.times
    printReport(report, `${kills} kills of workers, ${crashes} of PostgreSQL, ${cuts} network cuts`)
    expect(report.violations).to.deep.equal([])
    expect(report.lost, 'attempts without a response').to.be.above(0)
  })
})
