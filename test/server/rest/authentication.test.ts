import { expect } from 'chai'
import { generateKey } from '../../../core/identity/secret.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

const KEYED = [
  ['GET', '/v1/wallet/balance'],
  ['GET', '/v1/credits/balance'],
  ['GET', '/v1/credits/history'],
  ['POST', '/v1/search'],
  ['POST', '/v1/credits/purchase'],
] as const
const OPEN = ['/health', '/openapi.json', '/v1/services', '/v1/services/echo'] as const

describe('authentication', () => {
  const hub = useHub()
  const send = async (method: string, path: string, authorization?: string) => {
    const headers: Record<string, string> = authorization ? { authorization } : {}
    return ask(hub().url, path, { method, headers, ...(method === 'POST' ? { body: {} } : {}) })
  }

  for (const [method, path] of KEYED) {
    it(`requires a key for ${method} ${path}`, async () => {
      const { status, headers, body } = await send(method, path)
      expect(status).to.equal(401)
      expect(headers['www-authenticate']).to.match(/^Bearer realm="hub"/)
      expect(body['code']).to.equal('invalid_api_key')
    })
  }

  it('requires a key or a signed challenge for POST /proxy/external', async () => {
    const { status, headers, body } = await send('POST', '/proxy/external')
    expect([status, body['code']]).to.deep.equal([402, 'payment_required'])
    expect(headers).to.include.keys('payment-required')
    expect(JSON.stringify(body['next_steps'])).to.include('sign_in').and.to.include('register')
  })

  for (const path of OPEN) {
    it(`requires no key for GET ${path}`, async () => {
      expect((await send('GET', path)).status).to.equal(200)
    })
  }

  it('rejects everything that is not a key of this hub, at every entry point', async () => {
    const { apiKey } = await hub().agent()
    const last = apiKey.at(-1) === 'a' ? 'b' : 'a'
    const wrong = {
      'an unknown key': `Bearer ${generateKey()}`,
      'a wrong checksum': `Bearer ${apiKey.slice(0, -1)}${last}`,
      'half a key': `Bearer ${apiKey.slice(0, 30)}`,
      'another prefix': `Bearer sk_${apiKey.slice(4)}`,
      'no key': 'Bearer',
      'another scheme': `Basic ${apiKey}`,
      'no scheme': apiKey,
      'two keys': `Bearer ${apiKey} ${apiKey}`,
      'a key in quotes': `Bearer "${apiKey}"`,
      'a very long one': `Bearer ahk_${'a'.repeat(5_000)}`,
    }
    for (const [what, authorization] of Object.entries(wrong)) {
      for (const path of ['/v1/search', '/proxy/echo/say']) {
        const { status, headers, body } = await send('POST', path, authorization)
        expect([status, body['code']], `${what} at ${path}`).to.deep.equal([401, 'invalid_api_key'])
        expect(headers['www-authenticate']).to.match(/error="invalid_token"/)
      }
    }
  })

  it('accepts the scheme in upper and lower case', async () => {
    const { apiKey } = await hub().agent()
    for (const scheme of ['bearer', 'BEARER']) {
      const { status } = await send('GET', '/v1/credits/balance', `${scheme} ${apiKey}`)
      expect(status).to.equal(200)
    }
  })

  it('rejects a revoked key within a second', async () => {
    const { apiKey, keyId, client } = await hub().agent()
    await client.balance()
    await hub().hub.pool.query('UPDATE hub.api_key SET revoked_at = now() WHERE id = $1', [keyId])
    hub().advanceCaches(1_000)
    const { status, headers, body } = await send('GET', '/v1/credits/balance', `Bearer ${apiKey}`)
    expect([status, body['code']]).to.deep.equal([401, 'revoked_api_key'])
    expect(headers['www-authenticate']).to.match(/^Bearer realm="hub", error="invalid_token"/)
  })
})
