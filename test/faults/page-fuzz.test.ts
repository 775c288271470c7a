import { randomInt } from 'node:crypto'
import { expect } from 'chai'
import { Random } from '../conservation/random.ts'
import { fuzzPagesOf, preparePageHub } from '../fuzz/page-hub.ts'
import { useHub } from '../support/suite.ts'

/** Odd requests per page and role. */
const PER_PAGE = 10
const TIMEOUT_MS = 1_200_000

describe('Every page and form, fuzzed with the sessions of four roles,', () => {
  let prepared: Awaited<ReturnType<typeof preparePageHub>>
  const hub = useHub(async () => {
    prepared = await preparePageHub()
    return { config: prepared.config }
  })
  after(() => prepared.sites.close())

  it('answers in words, shows nothing of others, and leads to no other site', async function () {
    this.timeout(TIMEOUT_MS)
    const seed = String(randomInt(2 ** 31))
    const found = await fuzzPagesOf(hub(), prepared, new Random(seed), PER_PAGE)
    expect(found.faults.join('\n'), `seed ${seed}`).to.equal('')
    expect(Math.min(...Object.values(found.pages)), 'pages of a role').to.be.greaterThan(50)
    expect(found.requests).to.be.greaterThan(2_000)
  })
})
