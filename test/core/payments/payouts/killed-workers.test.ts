import { type PayoutFixture, startPayoutFixture } from './fixture.ts'
import { judgeRound, owedProviders, payWithKills } from './kill-round.ts'

const PROVIDERS = 20

/** A small version of test/faults/payouts.test.ts, which pays a thousand. */
describe('payouts by two killed workers', () => {
  let world: PayoutFixture
  before(async () => {
    world = await startPayoutFixture()
  })
  after(() => world.stop())

  it('A105 pay each provider once what it is owed; ledger and chain agree', async () => {
    const owed = await owedProviders(world, PROVIDERS)
    await payWithKills(world, PROVIDERS)
    await judgeRound(world, owed)
  })
})
