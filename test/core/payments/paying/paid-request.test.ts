import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { parseSandboxHosts } from '../../../../core/egress/sandbox.ts'
import {
  quoteExternal,
  sendPaid,
  signPayment,
} from '../../../../core/payments/paying/x402-client.ts'
import { listen, realSockets, withEgress } from '../../egress/fixture.ts'
import {
  account,
  base64,
  GET,
  type Json,
  NOW,
  offer,
  PAY_TO,
  POLICY,
  paywall,
  respondWith,
  success,
  TERMS,
  TX,
  withSeller,
} from './fixture.ts'

/** Sends both requests to a seller that handles the payment with `paid`. */
const buy = (paid: RequestListener, options: Parameters<typeof sendPaid>[3] = {}) =>
  withSeller(paywall(paid), async ({ egress, seller }) => {
    const terms = await quoteExternal(egress, GET, POLICY)
    const signed = await signPayment(account, terms, NOW)
    const outcome = await sendPaid(egress, GET, signed, options)
    return { outcome, signed, seen: seller.seen }
  })

describe('the paid request', () => {
  realSockets()

  it('is paid with a receipt of success on a 2xx', async () => {
    const { outcome, signed, seen } = await buy(respondWith(201, { 'payment-response': success() }))
    expect(outcome).to.include({ outcome: 'paid', tx: TX })
    expect(outcome.response?.body.toString()).to.equal('goods')
    expect(seen.map(({ headers }) => headers['payment-signature'])).to.deep.equal([
      undefined,
      signed.header.value,
    ])
  })

  it('accepts a receipt of version 1 or a minimal one', async () => {
    const old = base64({ success: true, transaction: TX, network: 'base' })
    const least = base64({ success: true, transaction: 'soon' })
    expect((await buy(respondWith(200, { 'x-payment-response': old }))).outcome).to.include({
      outcome: 'paid',
      tx: TX,
    })
    expect((await buy(respondWith(200, { 'payment-response': least }))).outcome).to.include({
      outcome: 'paid',
      tx: undefined,
    })
  })

  const receipt = (value: string): Json => ({ 'payment-response': value })
  const failure = base64({ success: false, errorReason: 'x', transaction: '', network: 'base' })
  const never: RequestListener = () => undefined
  const unresolved: readonly [string, RequestListener, string, (string | undefined)?][] = [
    ['no receipt', respondWith(200), 'upstream_error'],
    ['a receipt of failure', respondWith(200, receipt(failure)), 'upstream_error'],
    ['a malformed receipt', respondWith(200, receipt('%%%')), 'upstream_error'],
    ['a receipt of JSON null', respondWith(200, receipt(base64(null))), 'upstream_error'],
    ['success as text', respondWith(200, receipt(base64({ success: 'true' }))), 'upstream_error'],
    [
      'the receipt of another payer',
      respondWith(200, receipt(success({ payer: PAY_TO }))),
      'upstream_error',
      TX,
    ],
    [
      'another amount',
      respondWith(200, receipt(success({ amount: '2999' }))),
      'upstream_error',
      TX,
    ],
    [
      'another network',
      respondWith(200, receipt(success({ network: 'eip155:1' }))),
      'upstream_error',
      TX,
    ],
    ['A089 a 500', respondWith(500), 'upstream_error'],
    ['a 500 with a receipt (upfront)', respondWith(500, receipt(success())), 'upstream_error', TX],
    [
      'A090 a repeated 402',
      respondWith(402, { 'payment-required': offer() }),
      'upstream_payment_rejected',
    ],
    [
      'a 402 with a receipt of failure',
      respondWith(402, receipt(failure)),
      'upstream_payment_rejected',
    ],
    ['A016 a 307', respondWith(307, { location: 'http://other.test/' }), 'upstream_redirect'],
    ['hanging up', (request) => request.socket.destroy(), 'upstream_unreachable'],
    ['silence', never, 'upstream_timeout'],
    [
      'an oversized response',
      respondWith(500, receipt(success()), 'a'.repeat(2_000)),
      'upstream_too_large',
      TX,
    ],
  ]
  for (const [title, paid, reason, tx] of unresolved) {
    it(`is unresolved after ${title}, having sent the signature once`, async () => {
      const limits = { maxBytes: 1_000, timeouts: { totalMs: 400 } }
      const { outcome, seen } = await buy(paid, limits)
      expect(outcome).to.include({ outcome: 'unresolved', reason, sent: true, tx })
      expect(seen.filter(({ headers }) => headers['payment-signature'])).to.have.length(1)
    })
  }

  it('A016 does not send the signature to a redirect target', async () => {
    const other = await listen()
    const location = `http://127.0.0.1:${other.port}/`
    const { outcome } = await buy(respondWith(307, { location }))
    expect(outcome.response?.status).to.equal(307)
    expect(other.connections()).to.equal(0)
    await other.stop()
  })

  it('reports if the signature was certainly not sent', async () => {
    const stoppedServer = await listen()
    await stoppedServer.stop()
    const sandboxHosts = parseSandboxHosts(`seller.test=127.0.0.1:${stoppedServer.port}`)
    const signed = await signPayment(account, TERMS, NOW)
    await withEgress({ sandboxHosts }, async (egress) => {
      const refused = await sendPaid(egress, GET, signed)
      expect(refused).to.include({ reason: 'upstream_unreachable', sent: false })
      const invalid = await sendPaid(egress, { ...GET, method: 'TRACE' }, signed)
      expect(invalid).to.include({ reason: 'validation_failed', sent: false })
    })
  })

  it('counts as sent if the hub fails while sending', async () => {
    const signed = await signPayment(account, TERMS, NOW)
    const broken = { request: () => Promise.reject(new Error('bug')), close: async () => undefined }
    const outcome = await sendPaid(broken, GET, signed)
    expect(outcome).to.include({ outcome: 'unresolved', reason: 'upstream_error', sent: true })
  })
})
