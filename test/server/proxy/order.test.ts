import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { flawed, gift } from '../../stories/failing-services.ts'
import { type ApiResponse, ask, type RequestOptions } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

describe('a call', () => {
  const hub = useHub({ plugins: [flawed, gift] })
  const say = (question: RequestOptions = {}) =>
    ask(hub().url, '/proxy/echo/say', { method: 'POST', ...question })
  const agentWith = async (credits: bigint) => {
    const agent = await hub().agent()
    if (credits > 0n) await hub().credit(agent.keyId, credits)
    return agent
  }
  const refused = (
    { status, body, headers }: ApiResponse,
    expected: number,
    code: string,
  ): void => {
    expect([status, body['code']], JSON.stringify(body)).to.deep.equal([expected, code])
    expect(headers['content-type']).to.match(/^application\/problem\+json/)
    expect(headers['x-charged-microdollars']).to.equal('0')
    expect(body).to.include({ charged_microdollars: 0, status: expected })
    expect(body['request_id']).to.equal(headers['x-request-id'])
  }

  describe('that the caller cannot pay returns 402 before any input error', () => {
    const bodies = [undefined, {}, { words: 7 }, { words: 'fine' }, { words: 'x'.repeat(2_000) }]
    for (const body of bodies) {
      it(`without a key: ${JSON.stringify(body)?.slice(0, 30) ?? 'no body'}`, async () => {
        const response = await say(body === undefined ? {} : { body })
        refused(response, 402, 'payment_required')
        expect(response.headers['cache-control']).to.equal('no-store')
        const header = String(response.headers['payment-required'])
        const offer = JSON.parse(Buffer.from(header, 'base64').toString()) as Offer
        expect(offer.x402Version).to.equal(2)
        expect(offer.accepts[0]).to.include({ amount: '100', network: 'eip155:8453' })
        expect(offer.resource.url).to.equal(`${hub().url}/proxy/echo/say`)
        expect(response.body).to.include({ price_microdollars: 100 })
        const steps = response.body['next_steps'] as { action: string }[]
        const actions = ['pay_x402', 'pay_mpp', 'sign_in', 'topup', 'register']
        expect(steps.map(({ action }) => action)).to.deep.equal(actions)
      })
    }

    it('with a key and no credits', async () => {
      const { apiKey: key } = await agentWith(0n)
      for (const body of [{}, { words: 'fine' }]) {
        const response = await say({ key, body })
        refused(response, 402, 'insufficient_credits')
        expect(response.headers).to.have.property('payment-required')
        expect(response.body).to.include({ price_microdollars: 100, available_microdollars: 0 })
      }
    })

    it('for an external API, without an x402 offer, because only credits can pay', async () => {
      const { apiKey: key } = await agentWith(0n)
      const body = { url: `${hub().sandbox!.sellerUrl}/weather` }
      const response = await ask(hub().url, '/proxy/external', { key, body })
      refused(response, 402, 'insufficient_credits')
      expect(response.headers).not.to.have.property('payment-required')
      const wrong = await ask(hub().url, '/proxy/external', { key, body: {} })
      refused(wrong, 422, 'validation_failed') // without a URL there is no price
    })
  })

  describe('that the caller can pay returns input errors before anything is reserved', () => {
    it('with credits', async () => {
      const { apiKey: key, keyId } = await agentWith(usd('1'))
      refused(await say({ key, body: {} }), 422, 'validation_failed')
      refused(await say({ key, body: { words: 7 } }), 422, 'validation_failed')
      refused(await say({ key, body: { words: 'a', more: 1 } }), 422, 'validation_failed')
      refused(await say({ key, body: [] }), 422, 'validation_failed')
      refused(await say({ key }), 422, 'validation_failed')
      const large = await say({ key, body: { words: 'ü'.repeat(501) } })
      refused(large, 413, 'text_too_large')
      expect(large.body).to.include({ limit_bytes: 1_000, actual_bytes: 1_002, path: '/words' })
      expect(await hub().balance(keyId)).to.equal(usd('1'))
    })

    it('with free calls', async () => {
      const { apiKey: key } = await agentWith(0n)
      const response = await ask(hub().url, '/proxy/analysis/sentiment', {
        key,
        body: { txt: 'a' },
      })
      refused(response, 422, 'validation_failed')
      expect(response.body['issues']).to.deep.include({ path: '/text', message: 'is required' })
    })

    it('with a payment', async () => {
      const headers = { 'payment-signature': 'bm90IGEgcGF5bWVudA==' }
      refused(await say({ headers, body: {} }), 422, 'validation_failed')
      refused(await say({ headers, body: { words: 'a' } }), 402, 'payment_invalid')
    })
  })

  it('reports its charge, the remaining balance and the rate limit', async () => {
    const { apiKey: key } = await agentWith(usd('1'))
    const { status, headers, body } = await say({
      key,
      body: { words: 'a' },
      headers: { 'x-request-id': 'a-name-of-mine' },
    })
    expect([status, body]).to.deep.equal([200, { words: 'a' }])
    expect(headers).to.include({
      'x-request-id': 'a-name-of-mine',
      'x-charged-microdollars': '100',
      'x-balance-microdollars': '999900',
      'x-payment-source': 'credits',
      'cache-control': 'no-store',
      'ratelimit-policy': '"paid";q=1000;w=60',
    })
    expect(headers['ratelimit']).to.match(/^"paid";r=999;t=\d+$/)
    expect(headers['x-call-id']).to.match(/^[\da-f]{8}-[\da-f]{4}-7/)
  })

  it('reports them for a free call too', async () => {
    const { apiKey: key } = await agentWith(0n)
    const { status, headers } = await ask(hub().url, '/proxy/gift/try', { key, body: {} })
    expect(status).to.equal(200)
    expect(headers).to.include({
      'x-charged-microdollars': '0',
      'x-balance-microdollars': '0',
      'x-payment-source': 'free',
    })
  })

  it('is refused if its price exceeds X-Max-Price', async () => {
    const { apiKey: key, keyId } = await agentWith(usd('1'))
    const sayForAtMost = (price: string) =>
      say({ key, body: { words: 'a' }, headers: { 'x-max-price': price } })
    const response = await sayForAtMost('99')
    refused(response, 402, 'price_exceeds_max')
    expect(response.body).to.include({ price_microdollars: 100, max_microdollars: 99 })
    refused(await sayForAtMost('0'), 402, 'price_exceeds_max')
    refused(await sayForAtMost('0.01'), 422, 'validation_failed')
    refused(await sayForAtMost('-5'), 422, 'validation_failed')
    expect(await hub().balance(keyId)).to.equal(usd('1'))
    expect((await sayForAtMost('100')).status).to.equal(200)
  })

  it('hides internal errors, and reports no charge for them', async () => {
    const { apiKey: key } = await agentWith(usd('1'))
    const flaw = (name: string) => ask(hub().url, `/proxy/flawed/${name}`, { key, body: {} })
    for (const name of ['throws', 'no-quote']) {
      const response = await flaw(name)
      refused(response, 502, 'plugin_failed')
      expect(response.text).not.to.match(/secret|TypeError|\.ts/)
    }
    const response = await flaw('refuses')
    refused(response, 422, 'refused')
    expect(response.body).to.include({ reason: 'too_dull', detail: 'Say something else.' })
  })

  it('passes only the paying key or wallet of the caller to the provider', async () => {
    const { client, keyId } = await agentWith(usd('1'))
    expect((await client.call('flawed', '/who', {})).body).to.deep.equal({ payer: keyId })
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    const wallet = { account, sandbox: true }
    const stranger = new HubClient({ baseUrl: hub().url, wallet })
    const { body } = await stranger.call('flawed', '/who', {}, { payUpTo: usd('0.01') })
    expect(body).to.deep.equal({ payer: `x402:${account.address.toLowerCase()}` })
  })

  it('lists the existing methods and endpoints', async () => {
    const { apiKey: key } = await agentWith(usd('1'))
    const put = await ask(hub().url, '/proxy/echo/say', { key, method: 'PUT', body: {} })
    refused(put, 405, 'method_not_allowed')
    expect(put.headers['allow']).to.equal('POST')
    refused(await ask(hub().url, '/proxy/echo/nothing', { key }), 404, 'not_found')
    refused(await ask(hub().url, '/proxy/nothing/say', { key }), 404, 'service_not_found')
    refused(await ask(hub().url, '/proxy/constructor/say', { key }), 404, 'service_not_found')
  })
})

interface Offer {
  readonly x402Version: number
  readonly accepts: readonly Readonly<Record<string, unknown>>[]
  readonly resource: { readonly url: string }
}
