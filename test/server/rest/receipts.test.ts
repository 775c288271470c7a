import { createHash, createPublicKey, verify } from 'node:crypto'
import { expect } from 'chai'
import { canonicalJson } from '../../../core/crypto/canonical-json.ts'
import { usd } from '../../../core/plugin/index.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { variablePriceService } from './variable-price-service.ts'

const WORK = '/proxy/moving/work'
const sha = (data: string): string => createHash('sha256').update(data).digest('base64url')
const claimsOf = (receipt: unknown) =>
  JSON.parse(
    Buffer.from(String(receipt).split('.')[1]!, 'base64url').toString(),
  ) as ApiResponse['body']

describe('receipts', () => {
  const hub = useHub({ plugins: [variablePriceService] })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const call = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(hub().url, path, { key: ada.apiKey, body, headers })
  const callOf = (id: unknown) => ask(hub().url, `/v1/calls/${String(id)}`, { key: ada.apiKey })
  const verdict = (receipt: unknown) => ask(hub().url, '/v1/receipts/verify', { body: { receipt } })

  describe('a receipt', () => {
    it('states request, response and charge, and is verified by the JWKS', async () => {
      const { headers, text } = await call(WORK, { n: 7 })
      const receipt = String(headers['x-receipt'])
      const [head = '', body = '', signature = ''] = receipt.split('.')
      const { kid, alg } = JSON.parse(Buffer.from(head, 'base64url').toString())
      expect(alg).to.equal('EdDSA')
      const { body: jwks } = await ask(hub().url, '/.well-known/jwks.json')
      const jwk = (jwks['keys'] as { kid: string }[]).find((one) => one.kid === kid)
      const key = createPublicKey({ key: jwk as never, format: 'jwk' })
      const good = verify(
        null,
        Buffer.from(`${head}.${body}`),
        key,
        Buffer.from(signature, 'base64url'),
      )
      expect(good).to.equal(true)
      expect(claimsOf(receipt)).to.include({
        iss: hub().url,
        jti: headers['x-call-id'],
        sub: ada.keyId,
        endpoint: 'POST /moving/work',
        charged_microdollars: 1_000,
        source: 'credits',
        outcome: 'delivered',
        status: 200,
        request_sha256: sha(`POST /moving/work\n${canonicalJson({ n: 7 })}`),
        response_sha256: sha(text),
        ledger_entry: headers['x-call-id'],
      })
      expect(receipt.length, 'fits into any header').to.be.below(2_000)
    })

    it('is returned with the call, its state and charge', async () => {
      const { headers } = await call(WORK, { n: 8 })
      const { status, body } = await callOf(headers['x-call-id'])
      expect(status).to.equal(200)
      expect(body).to.include({
        state: 'charged',
        source: 'credits',
        charged_microdollars: 1_000,
        receipt: headers['x-receipt'],
        answer: null,
      })
    })

    it('is verified by the hub and compared with the ledger', async () => {
      const { headers } = await call(WORK, { n: 9 })
      await callOf(headers['x-call-id'])
      expect((await verdict(headers['x-receipt'])).body).to.deep.include({
        valid: true,
        reason: null,
        books: 'agree',
      })
    })

    it('is invalid after any change', async () => {
      const receipt = String((await call(WORK, { n: 1 })).headers['x-receipt'])
      const [head, body, signature = ''] = receipt.split('.')
      const other = Buffer.from(JSON.stringify({ ...claimsOf(receipt), charged_microdollars: 1 }))
      const forged: Readonly<Record<string, string>> = {
        [`${head}.${other.toString('base64url')}.${signature}`]: 'bad_signature',
        [`${head}.${body}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`]:
          'bad_signature',
        [`${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.${signature}`]:
          'malformed',
        [`${Buffer.from('{"alg":"EdDSA","kid":"other","typ":"agenthub-receipt+jws"}').toString(
          'base64url',
        )}.${body}.${signature}`]: 'unknown_key',
        'no receipt': 'malformed',
      }
      for (const [text, reason] of Object.entries(forged)) {
        expect((await verdict(text)).body, text).to.deep.include({ valid: false, reason })
      }
    })

    it('of a stream is stored with the call and hashes the whole stream', async () => {
      const { headers, text } = await call('/proxy/moving/stream', {})
      expect(headers).not.to.have.property('x-receipt')
      const { body } = await callOf(headers['x-call-id'])
      expect(claimsOf(body['receipt'])).to.include({ response_sha256: sha(text) })
    })

    it('of a failed call states that nothing was charged', async () => {
      const failed = await call('/proxy/moving/fails', {})
      expect(failed.body).to.deep.include({
        code: 'plugin_failed',
        charged_microdollars: 0,
        call_id: failed.headers['x-call-id'],
        refund: { source: 'credits', amount_microdollars: 1_000, reason: 'handler_threw' },
      })
      expect(failed.headers['x-refund-reason']).to.equal('handler_threw')
      const { body } = await callOf(failed.headers['x-call-id'])
      expect(body).to.include({
        state: 'released',
        reason: 'plugin_failed',
        charged_microdollars: 0,
      })
      expect(claimsOf(body['receipt'])).to.include({ outcome: 'failed', charged_microdollars: 0 })
    })

    it('of an unsuccessful response states the refund reason', async () => {
      const { status, headers } = await call('/proxy/moving/missing', {})
      expect(status).to.equal(404)
      expect(headers).to.include({ 'x-charged-microdollars': '0', 'x-refund-reason': 'status_404' })
      await callOf(headers['x-call-id'])
      const { body } = await ask(hub().url, '/v1/credits/history?limit=1', { key: ada.apiKey })
      const [item] = body['data'] as Record<string, unknown>[]
      expect(item).to.include({ event: 'call.released', reason: 'status_404' })
    })
  })

  it('a call with an idempotency key stores its response only for the calling key', async () => {
    const { headers } = await call(WORK, { n: 5 }, { 'idempotency-key': 'kept-1' })
    const { body } = await callOf(headers['x-call-id'])
    expect(body['answer']).to.deep.equal({
      status: 200,
      content_type: 'application/json',
      encoding: 'json',
      body: { n: 5 },
    })
    const eve = await hub().agent()
    const path = `/v1/calls/${String(headers['x-call-id'])}`
    const { status, body: problem } = await ask(hub().url, path, { key: eve.apiKey })
    expect([status, problem['code']]).to.deep.equal([404, 'not_found'])
  })
})
