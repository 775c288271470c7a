import { expect } from 'chai'
import type { PrivateKeyAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../core/clock.ts'
import { usd } from '../../core/money.ts'
import { parseOffer } from '../../core/payments/paying/offer.ts'
import { chooseTerms } from '../../core/payments/paying/terms.ts'
import { signPayment } from '../../core/payments/paying/x402-client.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'

const SAY = '/proxy/echo/say'
const CREDITS = '/v1/credits/purchase'

const decoded = (header: unknown): Record<string, unknown> =>
  JSON.parse(Buffer.from(String(header), 'base64').toString('utf8')) as Record<string, unknown>

describe('a client of x402 version 1, which reads only the body', () => {
  const hub = useHub()
  let eve: PrivateKeyAccount
  before(async () => {
    eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('10') })
  })

  const say = (headers: Record<string, string> = {}, words = 'hello'): Promise<ApiResponse> =>
    ask(hub().url, SAY, { body: { words }, headers })

  /** Signs the offer in a body, as X-PAYMENT. */
  async function sign({ text }: ApiResponse): Promise<string> {
    const offer = parseOffer({ headers: {}, body: Buffer.from(text) })
    const ownWallets = [eve.address]
    const host = new URL(hub().url).hostname
    const terms = chooseTerms(offer, { host, maxAmount: 10n ** 9n, ownWallets })
    const { header } = await signPayment(eve, terms, systemClock.now())
    expect(header.name).to.equal('X-PAYMENT')
    return header.value
  }

  it('pays for a call once, and gets its receipt', async () => {
    const offered = await say()
    expect(offered.body).to.include({ status: 402, x402Version: 1, error: 'payment_required' })
    expect((offered.body['accepts'] as object[])[0]).to.include({
      network: 'base',
      maxAmountRequired: '100',
      resource: `${hub().url}${SAY}`,
    })
    const payment = { 'x-payment': await sign(offered) }
    const sold = await say(payment)
    expect(sold.status, sold.text).to.equal(200)
    const receipt = decoded(sold.headers['x-payment-response'])
    expect(receipt).to.include({ success: true, network: 'base', payer: eve.address })
    const repeated = await say(payment)
    expect(repeated.text).to.equal(sold.text)
    expect(repeated.headers['idempotency-replayed']).to.equal('true')
    expect((await say(payment, 'other words')).body['code']).to.equal('payment_replayed')
  })

  it('buys credits', async () => {
    const { apiKey: key, keyId } = await hub().agent()
    const body = { amount_microdollars: 5_000_000 }
    const offered = await ask(hub().url, CREDITS, { key, body })
    const headers = { 'x-payment': await sign(offered) }
    const bought = await ask(hub().url, CREDITS, { key, body, headers })
    expect(bought.status, bought.text).to.equal(201)
    expect(decoded(bought.headers['x-payment-response'])).to.include({ network: 'base' })
    expect(await hub().balance(keyId)).to.equal(usd('5'))
  })

  it('cannot pay another amount than the price, and is not charged then', async () => {
    const cheap = await sign(await say())
    const refused = await ask(hub().url, '/proxy/analysis/sentiment', {
      body: { text: 'The staff was lovely.' },
      headers: { 'x-payment': cheap },
    })
    expect(refused.status).to.equal(402)
    expect(refused.body).to.include({ charged_microdollars: 0, x402Version: 1 })
    expect(refused.body['reason']).to.equal('no_matching_payment_requirements')
  })

  it('is refused with the reason for what is not a payment', async () => {
    for (const value of ['{}', Buffer.from('{"x402Version":1}').toString('base64'), 'a,b']) {
      const { status, body } = await say({ 'x-payment': value })
      expect([status, body['code']], value).to.deep.equal([402, 'payment_invalid'])
    }
  })
})
