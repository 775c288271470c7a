import { expect } from 'chai'
import { realSockets } from '../core/egress/fixture.ts'
import { checkConservation } from './checker.ts'
import { collectFacts, readBaseline, resendPayments, settleAll } from './collect-facts.ts'
import type { Facts } from './facts.ts'
import { startInProcess } from './hub-environment.ts'
import { MUTATIONS } from './mutants.ts'
import { doubleCharge, doubleSale, loseDebit, openIntent } from './planted-bugs.ts'
import { report } from './report.ts'
import { prepareRun, type Run, type RunOptions, runLoad } from './run.ts'

const OPTIONS: RunOptions = {
  seed: process.env['CONSERVATION_SEED'],
  seconds: 30,
  keyed: 4,
  keyless: 3,
  walletsPerBuyer: 8,
  stallMs: 3_000,
  calmMs: 2_500,
  environment: startInProcess,
}
const SETTLE_MS = 60_000

/** The same with a hub that is killed, and for longer, is test/faults/conservation.test.ts. */
describe(`${OPTIONS.seconds} s of buyers, sellers and faults`, function () {
  this.timeout(180_000)
  realSockets()
  let run: Run
  let facts: Facts
  let found: readonly string[]

  before(async () => {
    run = await prepareRun(OPTIONS)
    const baseline = await readBaseline(run)
    await runLoad(run, OPTIONS)
    await settleAll(run, SETTLE_MS)
    const served = await resendPayments(run)
    const collect = () => collectFacts(run, baseline, served)
    facts = await collect()
    found = checkConservation(facts)
    process.stdout.write(report(run, facts))
    newFindings = async () =>
      checkConservation(await collect()).filter((line) => !found.includes(line))
  })
  let newFindings: () => Promise<string[]>
  after(() => run?.stop())

  it('create and lose no money and leave nothing unresolved', () => {
    expect(found).to.deep.equal([])
  })

  it('exercise every declared behavior at least once', () => {
    expect(run.counters.missing()).to.deep.equal([])
  })

  describe('the checker reports an error mutated into the facts of this run:', () => {
    for (const [title, { mutate, finds }] of Object.entries(MUTATIONS)) {
      it(title, () => {
        const lines = checkConservation(mutate(facts)).filter((line) => !found.includes(line))
        expect(lines.join('\n')).to.match(finds)
      })
    }
  })

  /** In sequence; a planted bug stays in the data. */
  describe('the checker reports a bug planted into the ledger or the chain:', () => {
    const planted: readonly [string, (run: Run) => Promise<unknown>, readonly RegExp[]][] = [
      [
        'a lost debit',
        loseDebit,
        [
          /^change of the spend wallet/,
          /^paid and not posted/,
          /^income of seller/,
          /^reconciliation of spend: unknown_withdrawal/,
        ],
      ],
      [
        'a call that was never made is charged',
        doubleCharge,
        [/^charged, and not reported/, /^liabilities:x402-out:in-transit/],
      ],
      [
        'a payment posted as two sales',
        doubleSale,
        [/^sales of the payment/, /^change of the treasury/, /^reconciliation of treasury/],
      ],
      ['an unresolved payment', openIntent, [/^unresolved: intent/]],
    ]
    for (const [title, plant, patterns] of planted) {
      it(title, async () => {
        const before = new Set(await newFindings())
        await plant(run)
        const lines = (await newFindings()).filter((line) => !before.has(line))
        for (const pattern of patterns) {
          expect(
            lines.filter((line) => pattern.test(line)),
            String(pattern),
          ).to.not.be.empty
        }
      })
    }
  })
})
