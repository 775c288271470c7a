import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

describe('the rate limit', () => {
  const hub = useHub()
  const balance = (key: string) => ask(hub().url, '/v1/credits/balance', { key })
  const say = (key: string) => ask(hub().url, '/proxy/echo/say', { key, body: { words: 'a' } })

  it('allows 100 requests a minute on the free tier, over all entry points', async () => {
    const [ada, bob] = [await hub().agent(), await hub().agent()]
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 ? balance(ada.apiKey) : say(ada.apiKey))),
    )
    const count = (wanted: number) => responses.filter(({ status }) => status === wanted).length
    expect([count(200), count(402)]).to.deep.equal([50, 50])
    for (const refused of [await balance(ada.apiKey), await say(ada.apiKey)]) {
      const { status, headers, body } = refused
      expect(status).to.equal(429)
      expect(body).to.include({ code: 'rate_limited', retryable: true, charged_microdollars: 0 })
      const seconds = Number(headers['retry-after'])
      expect(seconds).to.be.within(1, 60)
      expect(headers).to.include({
        'ratelimit-policy': '"free";q=100;w=60',
        ratelimit: `"free";r=0;t=${seconds}`,
        'x-ratelimit-limit': '100',
        'x-ratelimit-remaining': '0',
      })
    }
    expect((await balance(bob.apiKey)).status, 'another key').to.equal(200)
  })

  it('allows 1,000 requests a minute with credits', async () => {
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const responses = await Promise.all(Array.from({ length: 150 }, () => say(apiKey)))
    expect(responses.filter(({ status }) => status !== 200)).to.deep.equal([])
    expect(responses[0]?.headers['ratelimit-policy']).to.equal('"paid";q=1000;w=60')
    expect(await hub().balance(keyId)).to.equal(usd('0.985'))
  })

  it('limits the offers that an address without a key may read', async () => {
    const offer = () => ask(hub().url, '/proxy/echo/say', { method: 'POST' })
    const statuses: number[] = []
    for (let i = 0; i < 301; i++) statuses.push((await offer()).status)
    expect(new Set(statuses)).to.deep.equal(new Set([402, 429]))
    expect(statuses.at(-1)).to.equal(429)
  })
})
