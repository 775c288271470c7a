import { expect } from 'chai'
import { nextState, type StateBefore } from '../../../../core/catalog/listings/probe/next-state.ts'

describe('the next probe', () => {
  const before: StateBefore = {
    state: 'active',
    failures: 0,
    verified: true,
    claimed: true,
    recentFailures: 0,
    daysDead: 0,
    hostListings: 1,
  }
  const again = (failures: number, chance = 0.5) =>
    nextState({ ...before, failures }, 'timeout', { chance }).againSeconds

  it('of a dead listing triples its delay each time, up to a week', () => {
    expect([0, 1, 2, 3, 20].map((n) => again(n))).to.deep.equal([300, 900, 2_700, 8_100, 604_800])
  })

  it('is after an hour, or later on a host with more listings than 120 probes per hour', () => {
    const wait = (hostListings: number) =>
      nextState({ ...before, hostListings }, 'up', { chance: 0.5 }).againSeconds
    expect([1, 120, 4_000].map(wait)).to.deep.equal([3_600, 3_600, 120_000])
  })

  it('varies by ±10 %', () => {
    expect([again(0, 0), again(0, 1)]).to.deep.equal([270, 330])
  })

  it('is the last one of a dead listing without a source', () => {
    const dead = { ...before, failures: 5, claimed: false, daysDead: 15 }
    expect(nextState(dead, 'not_found', { chance: 0 })).to.deep.equal({
      state: 'unlisted',
      reason: 'delisted',
      failures: 6,
      againSeconds: null,
      removed: true,
    })
    expect(nextState({ ...dead, claimed: true }, 'not_found', { chance: 0 }).removed).to.equal(
      false,
    )
    expect(nextState({ ...dead, daysDead: 13 }, 'not_found', { chance: 0 }).removed).to.equal(false)
  })
})
