import { expect } from 'chai'
import { buffersMib } from '../../../core/db/server-settings.ts'

describe('core/db/server-settings', () => {
  it('takes an eighth of the memory for the page cache, from 128 MB up to 2 GB', () => {
    const gib = 2 ** 30
    expect([0.5, 2, 8, 16, 64].map((size) => buffersMib(size * gib))).to.deep.equal([
      128, 256, 1_024, 2_048, 2_048,
    ])
  })
})
