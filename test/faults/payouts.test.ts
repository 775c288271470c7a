import { type PayoutFixture, startPayoutFixture } from '../core/payments/payouts/fixture.ts'
import { judgeRound, owedProviders, payWithKills } from '../core/payments/payouts/kill-round.ts'

const PROVIDERS = 1_000

/** The ordinary suite runs the same with twenty providers. */
describe(`Payouts to ${PROVIDERS} providers by two workers that are killed`, function () {
  this.timeout(240_000)
  let fixture: PayoutFixture
  before(async () => {
    fixture = await startPayoutFixture()
  })
  after(() => fixture.stop())

  it('pay each provider once, and the ledger agrees with the chain', async () => {
    const owed = await owedProviders(fixture, PROVIDERS)
    await payWithKills(fixture, PROVIDERS)
    await judgeRound(fixture, owed)
  })
})
