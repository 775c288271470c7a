import { randomInt } from 'node:crypto'
import { expect } from 'chai'
import { FUZZED, fuzzHub } from '../fuzz/hub.ts'
import { useHub } from '../support/suite.ts'

const SECONDS = 180

describe('every route, for minutes', () => {
  const hub = useHub(FUZZED)

  it('answers nothing that its document does not have, whatever it is sent', async function () {
    this.timeout((SECONDS + 120) * 1_000)
    const seed = randomInt(2 ** 31)
    const { faults } = await fuzzHub(hub(), seed, SECONDS)
    expect(faults.join('\n'), `seed ${seed}`).to.equal('')
  })
})
