import { expect } from 'chai'
import { askAgain, begin, gatherFacts, settleAll } from '../conservation/finish.ts'
import { judge } from '../conservation/judge.ts'
import { inItsOwnProcess } from '../conservation/process-venue.ts'
import { report } from '../conservation/report.ts'
import { prepare, type Run, type RunOptions, trade } from '../conservation/run.ts'
import { realSockets } from '../core/egress/world.ts'

const MINUTES = 10
const OPTIONS: RunOptions = {
  seed: process.env['CONSERVATION_SEED'],
  seconds: MINUTES * 60,
  keyed: 5,
  keyless: 4,
  purses: 60,
  stallMs: 14_000,
  calmMs: 8_000,
  venue: inItsOwnProcess,
}
/** A hold of a call that a kill cut short lives a minute and a half. */
const SETTLE_MS = 150_000

/** Design §6. The judge's own test is test/conservation. */
describe(`${MINUTES} minutes of buyers, sellers and faults, with kills of the hub`, function () {
  this.timeout((MINUTES + 10) * 60_000)
  realSockets()
  let run: Run | undefined
  after(() => run?.stop())

  it('neither make nor lose money, nor leave any open', async () => {
    run = await prepare(OPTIONS)
    const start = await begin(run)
    await trade(run, OPTIONS)
    await settleAll(run, SETTLE_MS)
    const facts = await gatherFacts(run, start, await askAgain(run))
    process.stdout.write(report(run, facts))
    expect(judge(facts)).to.deep.equal([])
    expect(run.tally.missing()).to.deep.equal([])
  })
})
