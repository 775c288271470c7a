import { judgeRound, owedProviders, payWithKills } from './round.ts'
import { type PayWorld, startPayWorld } from './world.ts'

const PROVIDERS = 20

/** Case A105, as test/faults/payouts.test.ts has it with a thousand. */
describe('payouts by two workers that are killed', function () {
  this.timeout(60_000)
  let world: PayWorld
  before(async () => {
    world = await startPayWorld()
  })
  after(() => world.stop())

  it('A105 are made once, to each provider what it is owed; books and chain agree', async () => {
    const owed = await owedProviders(world, PROVIDERS)
    await payWithKills(world, PROVIDERS)
    await judgeRound(world, owed)
  })
})
