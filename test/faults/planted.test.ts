import { expect } from 'chai'
import { crash, emptyDatabase, type Report, round, tell } from './bank/round.ts'
import type { Tellers } from './bank/tellers.ts'
import type { BankSpec } from './banks/index.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { openSimpleBank } from './banks/simple.ts'
import { Cluster } from './rig/cluster.ts'
import { between } from './rig/torment.ts'

const AGENTS = 12
const ROUNDS_MAX = 6
const kills = (tellers: Tellers) => [{ pause: () => 1_000, act: () => tellers.kill() }]

/** Case A071 and its like: a checker that finds nothing in flawed banks proves nothing. */
describe('The checker of the bank workload finds a planted bug', () => {
  let cluster: Cluster
  let databases = 0

  before(async () => {
    cluster = await Cluster.create()
    await cluster.start()
  })
  after(() => cluster.remove())

  const nextDatabase = (): Promise<string> => emptyDatabase(cluster, `planted_${++databases}`)

  /** Rounds until one has violations; which bug shows when is a matter of luck. */
  async function untilFound(one: () => Promise<Report>): Promise<readonly string[]> {
    for (let rounds = 1; ; rounds++) {
      const report = await one()
      tell(report, `round ${rounds}`)
      if (report.violations.length > 0 || rounds === ROUNDS_MAX) return report.violations
    }
  }

  const shortly = (spec: BankSpec): Promise<Report> =>
    round(spec, { agents: AGENTS, callers: 64, seconds: 4, torments: kills })

  it('and none in a small bank that has a unique key and locks', async () => {
    const report = await shortly(await openSimpleBank(await nextDatabase(), AGENTS, 'none'))
    tell(report, 'a sound bank')
    expect(report.violations).to.deep.equal([])
  })

  it('no unique key: repetitions are booked twice', async () => {
    const found = await untilFound(async () =>
      shortly(await openSimpleBank(await nextDatabase(), AGENTS, 'no-key')),
    )
    expect(found.join('\n')).to.match(/booked more than once/)
  })

  it('read-modify-write: money is lost between reading and writing', async () => {
    const found = await untilFound(async () =>
      shortly(await openSimpleBank(await nextDatabase(), AGENTS, 'no-lock')),
    )
    expect(found.join('\n')).to.match(/a balance that its entries do not explain/)
  })

  it('synchronous_commit = off: a crash forgets what was acknowledged', async () => {
    const unsafe = { synchronous_commit: 'off' }
    await crash(cluster, unsafe)
    const found = await untilFound(async () =>
      round(await openLedgerBank(await nextDatabase(), AGENTS), {
        agents: AGENTS,
        callers: 64,
        seconds: 5,
        torments: () => [{ pause: between(1_000, 2_500), act: () => crash(cluster, unsafe) }],
      }),
    )
    expect(found.join('\n')).to.match(/acknowledged and lost/)
  })
})
