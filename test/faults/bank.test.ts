import { expect } from 'chai'
import { crash, round, tell } from './bank/round.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { Cluster } from './rig/cluster.ts'
import { between, SECONDS } from './rig/torment.ts'

const AGENTS = 60

/** Case A070, without the doors: several processes beside each other, and a database that dies. */
describe(`${SECONDS} s of kill -9 of tellers and PostgreSQL`, () => {
  let cluster: Cluster

  before(async () => {
    cluster = await Cluster.create()
    await cluster.start()
  })
  after(() => cluster.remove())

  it('the ledger keeps every promise, and no process of it ends by itself', async () => {
    const report = await round(await openLedgerBank(cluster.url, AGENTS), {
      agents: AGENTS,
      callers: 256,
      seconds: SECONDS,
      torments: (tellers) => [
        { pause: () => 2_000, act: () => tellers.kill() },
        {
          pause: between(1_000, 6_000),
          act: () => (Math.random() < 0.6 ? crash(cluster) : cluster.killBackend()),
        },
        { pause: between(500, 4_000), act: async () => cluster.proxy.cut() },
      ],
    })
    const [kills, crashes, cuts] = report.times
    tell(
      report,
      `kill -9 of ${kills} tellers and ${crashes} times of PostgreSQL, ${cuts} cuts of the network`,
    )
    expect(report.violations).to.deep.equal([])
    expect(report.lost, 'tries without an answer').to.be.above(0)
  })
})
