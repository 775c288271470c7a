import { decodePaymentRequiredHeader } from '@x402/core/http'
import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'

describe('A216 a call below the minimum price of x402', () => {
  const hub = useHub({ config: { minX402: usd('0.001') } })
  const say = (key?: string) => ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hello' } })

  it('is offered for credits only, and the 402 says why', async () => {
    const { status, headers, body } = await say()
    expect([status, body['code']]).to.deep.equal([402, 'payment_required'])
    const { accepts } = decodePaymentRequiredHeader(String(headers['payment-required']))
    expect(accepts).to.deep.equal([])
    expect(body).to.include({ price_microdollars: 100, x402_min_microdollars: 1_000 })
    expect(body['detail']).to.include('gas would exceed the price')
    const actions = (body['next_steps'] as { action: string }[]).map(({ action }) => action)
    expect(actions).to.deep.equal(['sign_in', 'topup', 'register'])
  })

  it('is paid by credits', async () => {
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    expect(await say(ada.apiKey)).to.have.property('status', 200)
  })
})
