import { x402HTTPClient } from '@x402/core/client'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import {
  createSIWxClientHook,
  createSIWxPayload,
  encodeSIWxHeader,
  SIGN_IN_WITH_X,
  type SIWxExtension,
} from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { json, type Micros } from '../../core/money.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, type RequestOptions } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

let price: Micros
/** Service whose price changes between a 402 and the signed request. */
const variable = defineService({
  slug: 'variable',
  name: 'Variable',
  category: 'test',
  summary: 'Changes its price.',
  provider: 'example',
  endpoints: {
    'POST /work': {
      summary: 'Works.',
      price: { max: usd('0.01'), of: async () => ({ amount: price }) },
      input: s.object({}),
      handle: async () => ({ done: true }),
    },
  },
})

const CREDITS = usd('0.5')
const EXTERNAL = '/proxy/external'
const SELLER_PRICE = usd('0.01')

describe('a signed challenge', () => {
  const hub = useHub({ plugins: [countingService, variable], config: { minX402: usd('0.001') } })
  let account: ReturnType<typeof privateKeyToAccount>
  let keyId: string
  beforeEach(async () => {
    resetWork()
    price = usd('0.002')
    account = privateKeyToAccount(generatePrivateKey())
    const wallet = { account, sandbox: true }
    keyId = (await new HubClient({ baseUrl: hub().url, wallet }).register()).keyId
    await hub().credit(keyId, CREDITS)
  })

  const spent = async () => CREDITS - (await hub().balance(keyId))
  const challengeOf = ({ headers }: ApiResponse): SIWxExtension => {
    const required = decodePaymentRequiredHeader(String(headers['payment-required']))
    return required.extensions![SIGN_IN_WITH_X] as SIWxExtension
  }
  async function sign(response: ApiResponse): Promise<string> {
    const { info, supportedChains } = challengeOf(response)
    const payload = { ...info, ...supportedChains[0]! }
    return encodeSIWxHeader(await createSIWxPayload(payload, account, hub().url))
  }
  const send = (path: string, { headers, ...rest }: RequestOptions, signIn?: string) =>
    ask(hub().url, path, {
      ...rest,
      headers: { ...headers, ...(signIn !== undefined && { [SIGN_IN_WITH_X]: signIn }) },
    })
  /** Requests twice, as clients do, and signs in between. */
  async function signedCall(path: string, request: RequestOptions, changed = request) {
    const unsigned = await send(path, request)
    expect(unsigned.status).to.equal(402)
    return { unsigned, signed: await send(path, changed, await sign(unsigned)) }
  }
  const statementOf = (response: ApiResponse) => String(challengeOf(response).info.statement)
  const payingFetch = (from = account) =>
    wrapFetchWithPayment(
      fetch,
      new x402HTTPClient(
        new x402Client().register('eip155:8453', new ExactEvmScheme(from)),
      ).onPaymentRequired(createSIWxClientHook(from)),
    )
  const post = (path: string, body: object, from = account) =>
    payingFetch(from)(new URL(path, hub().url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  describe('by the hook of the package, in the client that also pays,', () => {
    it('spends credits instead of USDC', async () => {
      const response = await post('/proxy/counted/work', {})
      expect([response.status, await response.json()]).to.deep.equal([200, { done: 1 }])
      expect(response.headers.get('x-payment-source')).to.equal('credits')
      expect(await spent()).to.equal(PRICE)
    })

    it('pays with USDC for a wallet without credits', async () => {
      const stranger = privateKeyToAccount(generatePrivateKey())
      await fund(hub().sandbox!.rpcUrl, stranger.address, { usdc: usd('1') })
      const response = await post('/proxy/counted/work', {}, stranger)
      expect(response.status).to.equal(200)
      expect(response.headers.get('x-payment-source')).to.equal('x402')
      expect([work.done, await spent()]).to.deep.equal([1, 0n])
    })

    it('pays for a call below the minimum of x402', async () => {
      const response = await post('/proxy/echo/say', { words: 'hello' })
      expect(response.status).to.equal(200)
      expect(await spent()).to.equal(usd('0.0001'))
    })

    it('buys from an external seller', async () => {
      const order = { url: `${hub().sandbox!.sellerUrl}/weather?city=Oslo` }
      const response = await post(EXTERNAL, order)
      expect(response.status).to.equal(200)
      expect(response.headers.get('x-payment-source')).to.equal('credits')
      expect(await spent()).to.equal(SELLER_PRICE)
    })
  })

  describe('names the maximum price, which', () => {
    it('is the price of the 402', async () => {
      const { unsigned, signed } = await signedCall('/proxy/variable/work', { body: {} })
      expect(statementOf(unsigned)).to.equal(
        'Spend up to 0.002000 USD of the credits of this wallet on one request.',
      )
      expect([signed.status, await spent()]).to.deep.equal([200, usd('0.002')])
    })

    it('a higher price does not charge: the 402 has a challenge for it', async () => {
      const header = await sign(await send('/proxy/variable/work', { body: {} }))
      price = usd('0.003')
      const raised = await send('/proxy/variable/work', { body: {} }, header)
      expect([raised.status, raised.body['code']]).to.deep.equal([402, 'payment_required'])
      expect(raised.body).to.include({
        sign_in_refused: 'price_raised',
        price_microdollars: 3_000,
        available_microdollars: json(CREDITS),
      })
      expect(await spent()).to.equal(0n)
      const paid = await send('/proxy/variable/work', { body: {} }, await sign(raised))
      expect([paid.status, await spent()]).to.deep.equal([200, usd('0.003')])
    })

    it('a lower price charges less', async () => {
      const header = await sign(await send('/proxy/variable/work', { body: {} }))
      price = usd('0.0015')
      expect(await send('/proxy/variable/work', { body: {} }, header)).to.include({ status: 200 })
      expect(await spent()).to.equal(usd('0.0015'))
    })

    it('is that of the caller for an external seller, or else of the hub', async () => {
      const body = { url: `${hub().sandbox!.sellerUrl}/weather` }
      const unlimited = await send(EXTERNAL, { body })
      expect(statementOf(unlimited)).to.include('Spend up to 1.000000 USD')
      const limited = { ...body, max_price_microdollars: 10_000 }
      expect(statementOf(await send(EXTERNAL, { body: limited }))).to.include('0.010000 USD')
      const headers = { 'x-max-price': '9999' }
      const { signed } = await signedCall(EXTERNAL, { body: limited, headers })
      expect(signed.body).to.include({ code: 'price_exceeds_max' })
      expect(await spent()).to.equal(0n)
    })
  })

  describe('is refused, and charged nothing, with another', () => {
    const order = () => ({ url: `${hub().sandbox!.sellerUrl}/weather` })
    const payTo = { 'x-accept-pay-to': `0x${'ab'.repeat(20)}` }
    const CHANGES: Readonly<Record<string, () => RequestOptions>> = {
      'maximum price in a header': () => ({ body: order(), headers: { 'x-max-price': '500000' } }),
      'payee to accept': () => ({ body: order(), headers: payTo }),
      'maximum price in the body': () => ({ body: { ...order(), max_price_microdollars: 20_000 } }),
      'URL of the seller': () => ({ body: { url: `${hub().sandbox!.sellerUrl}/shout` } }),
    }
    for (const [name, changed] of Object.entries(CHANGES)) {
      it(name, async () => {
        const { signed } = await signedCall(EXTERNAL, { body: order() }, changed())
        expect([signed.status, signed.body['sign_in_refused']]).to.deep.equal([
          402,
          'invalid_siwx_nonce',
        ])
        expect(await spent()).to.equal(0n)
      })
    }

    it('maximum in the statement', async () => {
      const unsigned = await send('/proxy/variable/work', { body: {} })
      const { info, supportedChains } = challengeOf(unsigned)
      const statement = statementOf(unsigned).replace('0.002', '9.002')
      const raised = { ...info, ...supportedChains[0]!, statement }
      const header = encodeSIWxHeader(await createSIWxPayload(raised, account, hub().url))
      const { body } = await send('/proxy/variable/work', { body: {} }, header)
      expect(body).to.include({ code: 'payment_required', sign_in_refused: 'invalid_siwx_nonce' })
    })

    it('service, whose path and body are the same', async () => {
      const header = await sign(await send('/proxy/variable/work', { body: {} }))
      const { body } = await send('/proxy/counted/work', { body: {} }, header)
      expect(body).to.include({ sign_in_refused: 'invalid_siwx_uri_mismatch' })
      expect(work.done).to.equal(0)
    })

    it('signature, of a contract wallet (ERC-6492)', async () => {
      const { info, supportedChains } = challengeOf(
        await send('/proxy/variable/work', { body: {} }),
      )
      const chosen = { ...info, ...supportedChains[0]! }
      const payload = await createSIWxPayload(chosen, account, hub().url)
      const signature = `${payload.signature}${'6492'.repeat(16)}`
      const header = encodeSIWxHeader({ ...payload, signature })
      const { body } = await send('/proxy/variable/work', { body: {} }, header)
      expect(body).to.include({ sign_in_refused: 'invalid_siwx_malformed_signature' })
    })
  })

  it('is required before the hub asks a seller anything', async () => {
    const { status, body } = await send(EXTERNAL, { body: { url: 'http://127.0.0.1/secret' } })
    expect([status, body['code']]).to.deep.equal([402, 'payment_required'])
    const actions = (body['next_steps'] as { action: string }[]).map(({ action }) => action)
    expect(actions).to.deep.equal(['sign_in', 'topup', 'register'])
    expect(body).to.not.have.property('price_microdollars')
  })
})
