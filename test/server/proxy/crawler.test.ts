import { expect } from 'chai'
import { asCrawler } from '../../../server/proxy/crawler.ts'

describe('a crawler', () => {
  const told = async (headers: Readonly<Record<string, string>>) =>
    (await asCrawler(async () => ({ status: 200, headers, body: null }))).headers['crawler-charged']

  it('is told what it was charged', async () => {
    expect(await told({ 'X-Charged-Microdollars': '1500' })).to.equal('USD 0.001500')
  })

  it('is told of no charge while none is known: a stream is charged at its end', async () => {
    expect(await told({ 'X-Reserved-Microdollars': '1500' })).to.equal(undefined)
  })
})
