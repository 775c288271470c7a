import { expect } from 'chai'
import { realSockets } from '../core/egress/world.ts'
import type { Facts } from './facts.ts'
import { askAgain, begin, gatherFacts, settleAll } from './finish.ts'
import { judge } from './judge.ts'
import { MUTANTS } from './mutants.ts'
import { doubleCharge, doubleSale, loseDebit, openIntent } from './planted.ts'
import { report } from './report.ts'
import { prepare, type Run, type RunOptions, trade } from './run.ts'
import { inThisProcess } from './venue.ts'

const OPTIONS: RunOptions = {
  seed: process.env['CONSERVATION_SEED'],
  seconds: 30,
  keyed: 4,
  keyless: 3,
  purses: 8,
  stallMs: 3_000,
  calmMs: 2_500,
  venue: inThisProcess,
}
const SETTLE_MS = 60_000

/** Design §6. The same with a hub that is killed, and for longer: test/faults. */
describe(`${OPTIONS.seconds} s of buyers, sellers and faults`, function () {
  this.timeout(180_000)
  realSockets()
  let run: Run
  let facts: Facts
  let found: readonly string[]

  before(async () => {
    run = await prepare(OPTIONS)
    const start = await begin(run)
    await trade(run, OPTIONS)
    await settleAll(run, SETTLE_MS)
    const served = await askAgain(run)
    const look = () => gatherFacts(run, start, served)
    facts = await look()
    found = judge(facts)
    process.stdout.write(report(run, facts))
    again = async () => judge(await look()).filter((line) => !found.includes(line))
  })
  let again: () => Promise<string[]>
  after(() => run?.stop())

  it('neither make nor lose money, nor leave any open', () => {
    expect(found).to.deep.equal([])
  })

  it('come in every kind that there is', () => {
    expect(run.tally.missing()).to.deep.equal([])
  })

  describe('the judge finds what is wrong in the facts of this run', () => {
    for (const [title, { mutate, finds }] of Object.entries(MUTANTS)) {
      it(title, () => {
        const lines = judge(mutate(facts)).filter((line) => !found.includes(line))
        expect(lines.join('\n')).to.match(finds)
      })
    }
  })

  /** One after the other; what one planted stays. */
  describe('it finds what is planted into the books and the chain', () => {
    const planted: readonly [string, (run: Run) => Promise<unknown>, readonly RegExp[]][] = [
      [
        'a lost debit',
        loseDebit,
        [
          /^change of the spend wallet/,
          /^paid and not booked/,
          /^income of seller/,
          /^reconciliation of spend: unknown_withdrawal/,
        ],
      ],
      [
        'a call that is charged twice',
        doubleCharge,
        [/^charged, and nobody was told/, /^liabilities:x402-out:in-transit/],
      ],
      [
        'a payment that is sold twice',
        doubleSale,
        [/^sales of the payment/, /^change of the treasury/, /^reconciliation of treasury/],
      ],
      ['a payment that stays unresolved', openIntent, [/^unresolved: intent/]],
    ]
    for (const [title, plant, patterns] of planted) {
      it(title, async () => {
        const before = new Set(await again())
        await plant(run)
        const lines = (await again()).filter((line) => !before.has(line))
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
