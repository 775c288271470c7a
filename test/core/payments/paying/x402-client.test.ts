import { createHash } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { expect } from 'chai'
import { verifyTypedData } from 'viem'
import { EgressError } from '../../../../core/egress/errors.ts'
import { TRANSFER_TYPES } from '../../../../core/payments/chain/authorization.ts'
import { PaymentTermsError } from '../../../../core/payments/paying/terms-error.ts'
import {
  type ExternalRequest,
  quoteExternal,
  type SignedPayment,
  signPayment,
} from '../../../../core/payments/paying/x402-client.ts'
import { rejection } from '../../../support/rejection.ts'
import { realSockets } from '../../egress/fixture.ts'
import {
  account,
  ENTRY,
  GET,
  type Json,
  NOW,
  offer,
  PAY_TO,
  POLICY,
  paywall,
  RESOURCE,
  respondWith,
  TERMS,
  withSeller,
} from './fixture.ts'

const refused = (answer: RequestListener, request: Partial<ExternalRequest> = {}) =>
  withSeller(answer, async ({ egress, seller }) => {
    const error = await rejection(quoteExternal(egress, { ...GET, ...request }, POLICY))
    if (!(error instanceof PaymentTermsError || error instanceof EgressError)) throw error
    return { error, requests: seller.seen.length, connections: seller.connections() }
  })

describe('the unpaid request', () => {
  realSockets()

  it('returns terms', async () => {
    await withSeller(paywall(respondWith(200)), async ({ egress }) => {
      const terms = await quoteExternal(egress, GET, POLICY)
      expect(terms).to.deep.equal(TERMS)
    })
  })

  it('sends a string verbatim and anything else as JSON', async () => {
    const bodies: readonly [unknown, string, string | undefined][] = [
      ['{"a": 1}\n', '{"a": 1}\n', undefined],
      [{ a: [1, 'ü'] }, '{"a":[1,"ü"]}', 'application/json'],
      [false, 'false', 'application/json'],
      [0, '0', 'application/json'],
      ['', '', undefined],
      [null, '', undefined],
      [undefined, '', undefined],
    ]
    await withSeller(paywall(respondWith(200)), async ({ egress, seller }) => {
      for (const [body] of bodies) {
        await quoteExternal(egress, { ...GET, method: 'POST', body }, POLICY)
      }
      const typed = { ...GET, method: 'PUT', body: {}, headers: { 'Content-Type': 'text/x' } }
      await quoteExternal(egress, typed, POLICY)
      expect(seller.seen.map(({ body, headers }) => [body, headers['content-type']])).to.deep.equal(
        [...bodies.map(([, sent, type]) => [sent, type]), ['{}', 'text/x']],
      )
    })
  })

  it('is not payable if the seller requires no payment, however large the response', async () => {
    const endless: RequestListener = (_, response) => {
      const timer = setInterval(() => response.write('a'.repeat(65_536)), 1)
      response.on('close', () => clearInterval(timer))
    }
    for (const answer of [respondWith(200, {}, 'secret'), respondWith(204, {}, ''), endless]) {
      const { error } = await refused(answer)
      expect(error).to.include({ code: 'not_payable', reason: 'not_asked' })
      expect(JSON.stringify([error, error.message])).not.to.match(/secret|aaa/)
    }
  })

  const cases: readonly [string, RequestListener, string][] = [
    ['A015 a redirect', respondWith(302, { location: 'http://127.0.0.1/' }), 'upstream_redirect'],
    ['not found', respondWith(404), 'upstream_error'],
    ['a server error', respondWith(500), 'upstream_error'],
    ['a 402 without an offer', respondWith(402), 'upstream_payment_terms'],
    [
      'A088 ten years',
      paywall(respondWith(200), offer({ maxTimeoutSeconds: 315_360_000 })),
      'upstream_payment_terms',
    ],
    [
      'A091 a forged name',
      paywall(respondWith(200), offer({ extra: { name: 'X', version: '2' } })),
      'upstream_payment_terms',
    ],
    ['A087 the price', paywall(respondWith(200), offer({ amount: '990000' })), 'price_exceeds_max'],
    [
      'our own wallet',
      paywall(respondWith(200), offer({ payTo: account.address })),
      'upstream_payment_terms',
    ],
    ['hanging up', (request) => request.socket.destroy(), 'upstream_unreachable'],
  ]
  for (const [title, answer, code] of cases) {
    it(`is refused for ${title}, after one request`, async () => {
      const { error, requests } = await refused(answer)
      expect([error.code, requests]).to.deep.equal([code, 1])
    })
  }

  const bad: readonly [string, Partial<ExternalRequest>][] = [
    ['A017 a hub key in a header', { headers: { Authorization: 'Bearer ahk_x' } }],
    ['A017 a hub key in the body', { method: 'POST', body: { key: 'ahk_x' } }],
    ['A017 a hub key in the URL', { url: 'http://seller.test/?k=ahk_x' }],
    ['A019 Host', { headers: { Host: 'admin.internal' } }],
    ['A020 a line break', { headers: { 'X-A': 'a\r\nX-Injected: 1' } }],
    ['A021 TRACE', { method: 'TRACE' }],
    ['A010 port 22', { url: 'http://seller.test:22/' }],
    ['a payment of the caller', { headers: { 'payment-signature': 'x' } }],
  ]
  for (const [title, request] of bad) {
    it(`never starts for ${title}`, async () => {
      const { error, connections } = await refused(respondWith(200), request)
      expect([error.code, connections]).to.deep.equal(['validation_failed', 0])
    })
  }
})

describe('the signature', () => {
  const payloadOf = ({ header }: SignedPayment) =>
    decodePaymentSignatureHeader(header.value) as unknown as {
      payload: { signature: `0x${string}`; authorization: Record<string, string> }
    }

  it('covers exactly the terms, for sixty seconds at most', async () => {
    for (const [seconds, lifetime] of [
      [300, 60n],
      [86_400, 60n],
      [20, 20n],
    ] as const) {
      const signed = await signPayment(account, { ...TERMS, maxTimeoutSeconds: seconds }, NOW)
      const validBefore = 1_795_262_400n + lifetime
      expect(signed).to.include({ from: account.address, to: PAY_TO, value: 3_000n, validBefore })
      const { signature, authorization } = payloadOf(signed).payload
      expect(authorization).to.deep.equal({
        from: account.address,
        to: PAY_TO,
        value: '3000',
        validAfter: '0',
        validBefore: String(validBefore),
        nonce: signed.nonce,
      })
      expect(await isGood(signed, signature)).to.equal(true)
      const hash = createHash('sha256').update(signed.header.value).digest('hex')
      expect(signed.payloadHash).to.equal(`0x${hash}`)
    }
  })

  it('has a new nonce each time and is made once', async () => {
    let requestCount = 0
    const counting: Pick<typeof account, 'address' | 'signTypedData'> = {
      address: account.address,
      signTypedData: (data) => {
        requestCount++
        return account.signTypedData(data)
      },
    }
    const first = await signPayment(counting, TERMS, NOW)
    const second = await signPayment(counting, TERMS, NOW)
    expect(requestCount).to.equal(2)
    expect(first.nonce).to.match(/^0x[\da-f]{64}$/)
    expect(first.nonce).not.to.equal(second.nonce)
  })

  it('returns the entry of the seller in the header of its version', async () => {
    const { header } = await signPayment(account, TERMS, NOW)
    expect(header.name).to.equal('PAYMENT-SIGNATURE')
    expect(decodePaymentSignatureHeader(header.value)).to.deep.include({
      x402Version: 2,
      accepted: ENTRY,
      resource: RESOURCE,
    })
    for (const network of ['base', 'eip155:8453']) {
      const accepted = { ...ENTRY, network }
      const v1 = await signPayment(account, { ...TERMS, version: 1, accepted }, NOW)
      expect(v1.header.name).to.equal('X-PAYMENT')
      expect(payloadOf(v1)).to.include({ x402Version: 1, scheme: 'exact', network })
      expect(payloadOf(v1)).to.not.have.any.keys('accepted', 'resource')
    }
  })

  it('identifies itself to sellers who ask for that, the same again if signed again', async () => {
    const identifier = { info: { required: true }, schema: { type: 'object' } }
    const terms = { ...TERMS, identifier }
    const first = await signPayment(account, terms, NOW)
    const { extensions } = payloadOf(first) as unknown as { extensions: Json }
    const { info, schema } = extensions['payment-identifier'] as { info: Json; schema: unknown }
    expect(schema).to.deep.equal(identifier.schema)
    expect(info).to.include({ required: true })
    expect(info['id']).to.match(/^[\w-]{16,128}$/)
    const again = await signPayment(account, terms, NOW, undefined, first)
    expect(payloadOf(again)).to.deep.include({ extensions })
    const other = await signPayment(account, terms, NOW)
    expect(payloadOf(other)).not.to.deep.include({ extensions })
  })

  it('never pays the payer itself', async () => {
    const error = await rejection(signPayment(account, { ...TERMS, payTo: account.address }, NOW))
    expect(error).to.include({ reason: 'own_wallet' })
  })
})

const isGood = ({ from, to, value, validBefore, nonce }: SignedPayment, signature: `0x${string}`) =>
  verifyTypedData({
    address: account.address,
    domain: {
      name: 'USD Coin',
      version: '2',
      chainId: 8_453,
      verifyingContract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { from, to, value, validAfter: 0n, validBefore, nonce },
    signature,
  })
