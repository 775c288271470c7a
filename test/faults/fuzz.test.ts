import { randomInt } from 'node:crypto'
import { expect } from 'chai'
import { FUZZ_HUB_OPTIONS, fuzzHub } from '../fuzz/hub.ts'
import { useHub } from '../support/suite.ts'

const SECONDS = 180

describe('Every route, fuzzed for minutes,', () => {
  const hub = useHub(FUZZ_HUB_OPTIONS)

  it('gives only documented responses', async function () {
    this.timeout((SECONDS + 120) * 1_000)
    const seed = randomInt(2 ** 31)
    const { faults } = await fuzzHub(hub(), seed, SECONDS)
    expect(faults.join('\n'), `seed ${seed}`).to.equal('')
  })
})
