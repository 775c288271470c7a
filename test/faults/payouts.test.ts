import { type PayoutFixture, startPayoutFixture } from '../core/payments/payouts/fixture.ts'
import { judgeRound, owedProviders, payWithKills } from '../core/payments/payouts/kill-round.ts'

const PROVIDERS = 1_000

/** Case A105. The same with twenty providers is in the ordinary suite. */
describe(`Payouts to ${PROVIDERS} providers by two workers that are killed`, function () {
  this.timeout(240_000)
  let world: PayoutFixture
  before(async () => {
    world = await startPayoutFixture()
  })
  after(() => world.stop())

  it('each is paid once, and books and chain agree', async () => {
    const owed = await owedProviders(world, PROVIDERS)
    await payWithKills(world, PROVIDERS)
    await judgeRound(world, owed)
  })
})
