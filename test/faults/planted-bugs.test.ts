import { expect } from 'chai'
import { crash, emptyDatabase, printReport, type Report, runRound } from './bank/round.ts'
import type { BankWorkers } from './bank/workers.ts'
import type { BankSpec } from './banks/index.ts'
import { openLedgerBank } from './banks/ledger.ts'
import { openSimpleBank } from './banks/simple.ts'
import { Cluster } from './rig/cluster.ts'
import { randomBetween } from './rig/inject-faults.ts'

const AGENTS = 12
const ROUNDS_MAX = 6
const kills = (workers: BankWorkers) => [{ pause: () => 1_000, act: () => workers.kill() }]

/** Negative control: the checker must report violations in banks with planted bugs. */
describe('The checker of the bank workload', () => {
  let cluster: Cluster
  let databases = 0

  before(async () => {
    cluster = await Cluster.create()
    await cluster.start()
  })
  after(() => cluster.remove())

  const nextDatabase = (): Promise<string> => emptyDatabase(cluster, `planted_${++databases}`)

  /** Repeats rounds until one has violations: each bug shows only with some probability. */
  async function runUntilFound(one: () => Promise<Report>): Promise<readonly string[]> {
    for (let rounds = 1; ; rounds++) {
      const report = await one()
      printReport(report, `runRound ${rounds}`)
      if (report.violations.length > 0 || rounds === ROUNDS_MAX) return report.violations
    }
  }

  const runShortRound = (spec: BankSpec): Promise<Report> =>
    runRound(spec, { agents: AGENTS, callers: 64, seconds: 4, faults: kills })

  it('reports nothing for a small bank with a unique key and locks', async () => {
    const report = await runShortRound(await openSimpleBank(await nextDatabase(), AGENTS, 'none'))
    printReport(report, 'a sound bank')
    expect(report.violations).to.deep.equal([])
  })

  it('reports repetitions posted twice without a unique key', async () => {
    const found = await runUntilFound(async () =>
      runShortRound(await openSimpleBank(await nextDatabase(), AGENTS, 'no-key')),
    )
    expect(found.join('\n')).to.match(/posted more than once/)
  })

  it('reports money lost between reading and writing without locks', async () => {
    const found = await runUntilFound(async () =>
      runShortRound(await openSimpleBank(await nextDatabase(), AGENTS, 'no-lock')),
    )
    expect(found.join('\n')).to.match(/a balance that its entries do not explain/)
  })

  it('reports acknowledged steps lost in a crash with synchronous_commit = off', async () => {
    const unsafe = { synchronous_commit: 'off' }
    await crash(cluster, unsafe)
    const found = await runUntilFound(async () =>
      runRound(await openLedgerBank(await nextDatabase(), AGENTS), {
        agents: AGENTS,
        callers: 64,
        seconds: 5,
        faults: () => [{ pause: randomBetween(1_000, 2_500), act: () => crash(cluster, unsafe) }],
      }),
    )
    expect(found.join('\n')).to.match(/acknowledged and lost/)
  })
})
