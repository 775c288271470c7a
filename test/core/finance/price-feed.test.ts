import { expect } from 'chai'
import type { EgressRequest } from '../../../core/egress/http.ts'
import { Fault } from '../../../core/errors.ts'
import { PriceFeed } from '../../../core/finance/price-feed.ts'
import { usd } from '../../../core/money.ts'

const URL_TEMPLATE = 'https://prices.example/eth?date={day}#/data/amount'
const now = () => new Date('2026-12-01T08:00:00Z')

describe('the price feed', () => {
  const requests: EgressRequest[] = []
  const feedOf = (
    body: string,
    { status = 200, reference = usd('3000'), url = URL_TEMPLATE } = {},
  ) =>
    new PriceFeed(
      { url, reference },
      {
        request: async (request) => {
          requests.push(request)
          return { status, headers: {}, body: Buffer.from(body) }
        },
      },
      now,
    )
  const refusal = async (feed: PriceFeed): Promise<string> => {
    try {
      await feed.read('2026-11-30')
    } catch (error) {
      if (error instanceof Fault) return error.code
      throw error
    }
    return expect.fail('a price was returned')
  }

  it('reads the price of a day with its source, within limits of size and time', async () => {
    for (const amount of ['"3012.3456789"', '3012.3456789']) {
      const found = await feedOf(`{"data":{"amount":${amount}}}`).read('2026-11-30')
      expect(found).to.deep.equal({
        price: usd('3012.345678'),
        source: 'prices.example for 2026-11-30, read 2026-12-01T08:00:00.000Z',
      })
    }
    const [request] = requests
    expect(request).to.include({
      url: 'https://prices.example/eth?date=2026-11-30',
      method: 'GET',
      maxBytes: 65_536,
    })
    expect(request!.timeouts).to.deep.equal({ totalMs: 10_000 })
  })

  it('follows a JSON pointer through lists and escaped names', async () => {
    const url = 'https://prices.example/{day}#/result/a~1b/0'
    const found = await feedOf('{"result":{"a/b":["2500"]}}', { url }).read('2026-11-30')
    expect(found.price).to.equal(usd('2500'))
  })

  it('refuses a price below a half or above twice the reference', async () => {
    const bodyOf = (price: string) => `{"data":{"amount":"${price}"}}`
    for (const price of ['1499.999999', '6000.000001', '0', '30']) {
      expect(await refusal(feedOf(bodyOf(price))), price).to.equal('price_implausible')
    }
    for (const price of ['1500', '6000']) {
      expect((await feedOf(bodyOf(price)).read('2026-11-30')).price).to.equal(usd(price))
    }
  })

  it('refuses what is no price, and a feed that fails', async () => {
    const bodies = ['', 'x', '{}', '{"data":{}}', '{"data":{"amount":{}}}']
    const amounts = ['"-3000"', '"3e3"', '"3,000"', 'null', '""']
    for (const body of [...bodies, ...amounts.map((text) => `{"data":{"amount":${text}}}`)]) {
      expect(await refusal(feedOf(body)), body).to.equal('price_feed_unavailable')
    }
    const good = '{"data":{"amount":"3000"}}'
    expect(await refusal(feedOf(good, { status: 500 }))).to.equal('price_feed_unavailable')
    const request = () => Promise.reject(new Error('timeout'))
    const away = new PriceFeed({ url: URL_TEMPLATE, reference: usd('1') }, { request }, now)
    expect(await refusal(away)).to.equal('price_feed_unavailable')
  })
})
