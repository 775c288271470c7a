import { expect } from 'chai'
import { checkConservation } from '../conservation/checker.ts'
import {
  collectFacts,
  readBaseline,
  resendPayments,
  settleAll,
} from '../conservation/collect-facts.ts'
import { startInChildProcess } from '../conservation/process-environment.ts'
import { report } from '../conservation/report.ts'
import { prepareRun, type Run, type RunOptions, runLoad } from '../conservation/run.ts'
import { realSockets } from '../core/egress/fixture.ts'

const MINUTES = 10
const OPTIONS: RunOptions = {
  seed: process.env['CONSERVATION_SEED'],
  seconds: MINUTES * 60,
  keyed: 5,
  keyless: 4,
  walletsPerBuyer: 60,
  stallMs: 14_000,
  calmMs: 8_000,
  environment: startInChildProcess,
}
/** Holds of interrupted calls expire after a minute and a half. */
const SETTLE_MS = 150_000

/** The negative controls of the checker are in test/conservation. */
describe(`${MINUTES} minutes of buyers, sellers and faults, with kills of the hub`, function () {
  this.timeout((MINUTES + 10) * 60_000)
  realSockets()
  let run: Run | undefined
  after(() => run?.stop())

  it('create and lose no money and leave nothing unresolved', async () => {
    run = await prepareRun(OPTIONS)
    const baseline = await readBaseline(run)
    await runLoad(run, OPTIONS)
    await settleAll(run, SETTLE_MS)
    const facts = await collectFacts(run, baseline, await resendPayments(run))
    process.stdout.write(report(run, facts))
    expect(checkConservation(facts)).to.deep.equal([])
    expect(run.counters.missing()).to.deep.equal([])
  })
})
