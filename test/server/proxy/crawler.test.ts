import { expect } from 'chai'
import { withCrawlerPrice } from '../../../server/proxy/crawler.ts'

describe('a call of a crawler', () => {
  const crawlerCharged = async (headers: Readonly<Record<string, string>>) =>
    (await withCrawlerPrice(async () => ({ status: 200, headers, body: null }))).headers[
      'crawler-charged'
    ]

  it('reports the charge as crawler-charged', async () => {
    expect(await crawlerCharged({ 'X-Charged-Microdollars': '1500' })).to.equal('USD 0.001500')
  })

  it('reports no charge for a stream, which is charged at its end', async () => {
    expect(await crawlerCharged({ 'X-Reserved-Microdollars': '1500' })).to.equal(undefined)
  })
})
