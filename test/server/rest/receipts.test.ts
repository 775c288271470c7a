import { createHash, createPublicKey, verify } from 'node:crypto'
import { expect } from 'chai'
import { ProofError, verifyReceipt } from '../../../core/client/index.ts'
import { canonicalJson } from '../../../core/crypto/canonical-json.ts'
import { usd } from '../../../core/plugin/index.ts'
import { ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { claimsOf } from '../../support/receipt-claims.ts'
import { useHub } from '../../support/suite.ts'
import { variablePriceService } from './variable-price-service.ts'

const WORK = '/proxy/moving/work'
const sha = (data: string): string => createHash('sha256').update(data).digest('base64url')
/** Asks for a receipt with a signature of its own. */
const JWS = { 'accept-receipt': 'jws' }

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
      const { headers, text } = await call(WORK, { n: 7 }, JWS)
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

    it('shares one signature with those of calls that end at the same time', async () => {
      const { body: jwks } = await ask(hub().url, '/.well-known/jwks.json')
      const keys = jwks['keys'] as Parameters<typeof verifyReceipt>[1]
      const numbers = [...Array(40).keys()]
      const answers = await Promise.all(numbers.map((n) => call(WORK, { n })))
      const receipts = answers.map(({ headers }) => String(headers['x-receipt']))
      const signatures = new Set(receipts.map((receipt) => receipt.split('.')[3]))
      expect(signatures.size, 'signatures').to.be.below(receipts.length)
      for (const [n, receipt] of receipts.entries()) {
        expect(verifyReceipt(receipt, keys).claims).to.include({
          jti: answers[n]!.headers['x-call-id'],
          response_sha256: sha(answers[n]!.text),
        })
        expect((await verdict(receipt)).body).to.include({ valid: true })
        expect(receipt.length, 'fits into any header').to.be.below(2_000)
      }
    })

    it('is returned with the call, its state and charge', async () => {
      const { headers } = await call(WORK, { n: 8 }, JWS)
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
      const { body: jwks } = await ask(hub().url, '/.well-known/jwks.json')
      const keys = jwks['keys'] as Parameters<typeof verifyReceipt>[1]
      const jws = String((await call(WORK, { n: 1 }, JWS)).headers['x-receipt'])
      const [alone, among] = await Promise.all([WORK, WORK].map((path) => call(path, { n: 1 })))
      for (const receipt of [jws, alone!.headers['x-receipt'], among!.headers['x-receipt']]) {
        const parts = String(receipt).split('.')
        for (const [n, part] of parts.entries()) {
          for (const at of [0, Math.floor(part.length / 2), part.length - 1]) {
            const other = part[at] === 'A' ? 'B' : 'A'
            const changed = `${part.slice(0, at)}${other}${part.slice(at + 1)}`
            const text = parts.with(n, changed).join('.')
            expect((await verdict(text)).body, text).to.include({ valid: false })
            expect(() => verifyReceipt(text, keys), text).to.throw(ProofError)
          }
        }
      }
    })

    it('is refused with the reason', async () => {
      const receipt = String((await call(WORK, { n: 1 }, JWS)).headers['x-receipt'])
      const shared = String((await call(WORK, { n: 1 })).headers['x-receipt'])
      const [head, body, signature = ''] = receipt.split('.')
      const [batch, claims, place = '', root] = shared.split('.')
      const encode = (text: string) => Buffer.from(text).toString('base64url')
      const header = (kid: string, typ: string, alg = 'EdDSA') =>
        encode(JSON.stringify({ alg, kid, typ }))
      const other = encode(JSON.stringify({ ...claimsOf(receipt), charged_microdollars: 1 }))
      const second = Buffer.from(place, 'base64url')
      second.writeUInt16BE(1, 0)
      const forged: Readonly<Record<string, string>> = {
        [`${head}.${other}.${signature}`]: 'bad_signature',
        [`${batch}.${other}.${place}.${root}`]: 'bad_signature',
        [`${batch}.${claims}.${second.toString('base64url')}.${root}`]: 'bad_signature',
        [`${batch}.${claims}.${root}`]: 'malformed',
        [`${head}.${body}.${place}.${signature}`]: 'malformed',
        [`${encode('{"alg":"none"}')}.${body}.${signature}`]: 'malformed',
        [`${header('other', 'agenthub-receipt+jws')}.${body}.${signature}`]: 'unknown_key',
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
