import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import {
  BAZAAR,
  type DiscoveryExtension,
  extractDiscoveryInfo,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  type JWSSignedOffer,
  type JWSSignedReceipt,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
} from '@x402/extensions/offer-receipt'
import {
  appendPaymentIdentifierToExtensions,
  generatePaymentId,
} from '@x402/extensions/payment-identifier'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { maxPrice, meteredPrice } from '../../core/catalog/services/catalog.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

describe('x402 extensions', () => {
  const hub = useHub({ plugins: [countingService] })
  let payer: ReturnType<typeof privateKeyToAccount>
  beforeEach(async () => {
    resetWork()
    payer = await fundedWallet()
  })

  async function fundedWallet() {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    return account
  }
  const clientOf = (account = payer) =>
    new x402Client().register('eip155:8453', new ExactEvmScheme(account))
  const offerOf = ({ headers }: ApiResponse): PaymentRequired =>
    decodePaymentRequiredHeader(String(headers['payment-required']))
  const usdc = (account = payer) => hub().hub.paymentDeps.chain.balanceOf(account.address)

  interface Sent {
    readonly payment?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly key?: string
    readonly body?: object
  }
  const send = ({ payment, headers, key, body = {} }: Sent = {}): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/counted/work', {
      body,
      key,
      headers: { ...(payment !== undefined && { 'payment-signature': payment }), ...headers },
    })

  /** Signs a payment as the packages do, with an id of the buyer. */
  async function sign(id?: string, account = payer, offered?: ApiResponse): Promise<string> {
    const required = offerOf(offered ?? (await send()))
    if (id !== undefined) appendPaymentIdentifierToExtensions(required.extensions!, id)
    return encodePaymentSignatureHeader(await clientOf(account).createPaymentPayload(required))
  }

  describe('x402 offers', () => {
    it('describe every endpoint to indexers, in a header below 8 KB', async () => {
      const entries = await hub().hub.catalog.entries()
      // Whatever their domain charges at most.
      const isFree = (path: string) => path === '/pages' || path === '/license.xml'
      const sold = entries.filter(
        ({ isPassThrough, endpoint, path }) =>
          !isPassThrough && !isFree(path) && maxPrice(endpoint) > 0n && !meteredPrice(endpoint),
      )
      expect(sold.length).to.be.greaterThan(3)
      for (const { service, method, path } of sold) {
        const answer = await ask(hub().url, `/proxy/${service.slug}${path}`, {
          method,
          ...(method !== 'GET' && { body: {} }),
        })
        const name = `${method} /${service.slug}${path}`
        expect(answer.status, name).to.equal(402)
        expect(String(answer.headers['payment-required']).length, name).to.be.lessThan(8_192)
        const { extensions = {}, resource } = offerOf(answer)
        const bazaar = extensions[BAZAAR.key] as DiscoveryExtension
        expect(validateDiscoveryExtension(bazaar), name).to.deep.include({ valid: true })
        expect(validateDiscoveryExtensionSpec(bazaar as never), name).to.include({ valid: true })
        expect(bazaar.info.input, name).to.include({ type: 'http', method })
        const payload = { x402Version: 2, resource, extensions, accepted: {}, payload: {} }
        const found = extractDiscoveryInfo(payload as never, {} as never)
        expect(found, name).to.deep.include({ method, x402Version: 2 })
      }
    })

    it('are signed, and so are the receipts of their payments', async () => {
      const offered = await send()
      const required = offerOf(offered)
      const [signed] = extractOffersFromPaymentRequired(required)
      const terms = await verifyOfferSignatureJWS(signed as JWSSignedOffer)
      const { amount, payTo, asset } = required.accepts[0]!
      expect(terms).to.include({ resourceUrl: required.resource.url, amount, payTo, asset })
      const again = offerOf(await send())
      expect(extractOffersFromPaymentRequired(again), 'signed once').to.deep.equal([signed])

      const paying = wrapFetchWithPayment(fetch, clientOf())
      const response = await paying(new URL('/proxy/counted/work', hub().url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
      expect(response.status).to.equal(200)
      const receipt = extractReceiptFromResponse(response) as JWSSignedReceipt
      const paid = await verifyReceiptSignatureJWS(receipt)
      const { rows } = await hub().hub.pool.query(
        'SELECT id, transaction FROM hub.payment_claim WHERE payer = $1',
        [payer.address.toLowerCase()],
      )
      const [{ id: entry, transaction }] = rows
      expect(paid).to.deep.include({ amount, entry, transaction })
      const [offer] = decodeSignedOffers([signed!])
      expect(verifyReceiptMatchesOffer(receipt, offer!, [payer.address])).to.equal(true)
    })
  })

  describe('payments with an id of the buyer', () => {
    it('get their first response and PAYMENT-RESPONSE again', async () => {
      const payment = await sign(generatePaymentId())
      const [first, again] = [await send({ payment }), await send({ payment })]
      expect([first.status, again.status]).to.deep.equal([200, 200])
      expect(again.body).to.deep.equal(first.body)
      expect(again.headers['payment-response']).to.equal(first.headers['payment-response'])
      expect(work.done).to.equal(1)
    })

    it('are paid once: another payment, request or id is refused and moves nothing', async () => {
      const id = generatePaymentId()
      const payment = await sign(id)
      expect((await send({ payment })).status).to.equal(200)
      const conflicts = [
        await send({ payment: await sign(id) }),
        await send({ payment: await sign(id), body: { text: 'other' } }),
        await send({ payment: withId(payment, generatePaymentId()) }),
      ]
      for (const { status, body } of conflicts) {
        expect([status, body['code']]).to.deep.equal([409, 'payment_identifier_reused'])
        expect(body['charged_microdollars']).to.equal(0)
      }
      const elsewhere = await send({ payment, body: { text: 'other' } })
      expect(elsewhere.body['code']).to.equal('payment_replayed')
      expect(work.done).to.equal(1)
      expect(await usdc()).to.equal(usd('1') - PRICE)
    })

    it('are paid once, sent concurrently with different signatures', async () => {
      const id = generatePaymentId()
      const payments = await Promise.all(Array.from({ length: 6 }, () => sign(id)))
      const answers = await Promise.all(payments.map((payment) => send({ payment })))
      const codes = answers.map(({ status, body }) => body['code'] ?? status)
      expect(codes).to.have.members([200, ...Array(5).fill('payment_identifier_reused')])
      expect(work.done).to.equal(1)
      expect(await usdc()).to.equal(usd('1') - PRICE)
    })

    it('share no ids with other wallets', async () => {
      const id = generatePaymentId()
      const other = await fundedWallet()
      expect((await send({ payment: await sign(id) })).status).to.equal(200)
      expect((await send({ payment: await sign(id, other) })).status).to.equal(200)
      const stolen = JSON.parse(Buffer.from(await sign(id, other), 'base64').toString())
      stolen.payload.authorization.from = payer.address
      const forged = await send({ payment: encodePaymentSignatureHeader(stolen) })
      expect(forged.status, 'a forged payer gets no response').to.equal(409)
      expect(work.done).to.equal(2)
    })

    it('free their id if the work fails', async () => {
      const id = generatePaymentId()
      work.before = async () => {
        throw new Error('the provider is down')
      }
      expect((await send({ payment: await sign(id) })).status).to.equal(502)
      work.before = async () => {}
      expect((await send({ payment: await sign(id) })).status).to.equal(200)
      expect(await usdc()).to.equal(usd('1') - PRICE)
    })

    it('may be named by Idempotency-Key, which has the same meaning', async () => {
      const headers = { 'idempotency-key': 'report-of-may' }
      expect((await send({ payment: await sign(), headers })).status).to.equal(200)
      const second = await send({ payment: await sign(), headers })
      expect([second.status, second.body['code']]).to.deep.equal([409, 'payment_identifier_reused'])
      expect(work.done).to.equal(1)
    })

    it('charge a key once too, by credits or by the payment', async () => {
      const { apiKey: key, keyId } = await hub().agent()
      await hub().credit(keyId, usd('1'))
      const id = generatePaymentId()
      const first = await send({ payment: await sign(id), key })
      expect(first.headers).to.include({ 'x-payment-source': 'credits' })
      const again = await send({ payment: await sign(id), key })
      expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
      expect(await hub().balance(keyId)).to.equal(usd('1') - PRICE)
      expect(await usdc()).to.equal(usd('1'))
    })

    it('are refused with an id that is none', async () => {
      const { status, body } = await send({ payment: withId(await sign(), 'short') })
      expect([status, body['reason']]).to.deep.equal([402, 'malformed_identifier'])
    })
  })
})

/** Replaces the id in a payment; its signature does not cover it. */
function withId(payment: string, id: string): string {
  const decoded = JSON.parse(Buffer.from(payment, 'base64').toString())
  decoded.extensions['payment-identifier'] = { info: { required: false, id } }
  return encodePaymentSignatureHeader(decoded)
}
