import { verify } from 'node:crypto'
import { expect } from 'chai'
import { verifySignature } from 'http-message-sig'
import { Server } from 'mppx/attestation/web-bot-auth'
import { Store } from 'mppx/server'
import { RequestSigner } from '../../../core/agents/request-signer.ts'
import { systemClock } from '../../../core/clock.ts'
import { publicKeyOf } from '../../../core/crypto/signed-note.ts'
import { signingKeyOf } from '../../../core/crypto/signing-key.ts'
import { newAgentKey } from '../../stories/agent-keys.ts'

const ORIGIN = 'https://hub.example'
const SELLER = new URL('https://seller.example/buy?thing=1')

describe('requests of the hub', () => {
  const first = signingKeyOf(newAgentKey().privateKey)
  const second = signingKeyOf(newAgentKey().privateKey)
  const signer = new RequestSigner({
    keys: () => [first, second],
    origin: () => ORIGIN,
    clock: systemClock,
  })
  const request = () => new Request(SELLER, { method: 'POST', headers: signer.headersFor(SELLER) })

  it('are signed by the current key, and the directory by each key', () => {
    const { body, headers } = signer.directory()
    expect(headers['Content-Type']).to.equal('application/http-message-signatures-directory+json')
    expect(body.keys.map(({ kid }) => kid)).to.deep.equal([first.id, second.id])
    const signed = headers['Signature-Input'].split(/, (?=key\d)/)
    const signatures = headers.Signature.split(/, (?=key\d)/)
    for (const [n, key] of [first, second].entries()) {
      const parameters = signed[n]!.replace(/^key\d=/, '')
      expect(parameters).to.include('tag="http-message-signatures-directory"')
      expect(parameters).to.include(`keyid="${key.id}"`)
      const base = `"@authority";req: ${new URL(ORIGIN).host}\n"@signature-params": ${parameters}`
      const signature = Buffer.from(/:(.+):/.exec(signatures[n]!)![1]!, 'base64')
      const publicKey = publicKeyOf(Buffer.from(body.keys[n]!.x, 'base64url'))
      expect(verify(null, Buffer.from(base), publicKey, signature), key.id).to.equal(true)
    }
    expect(request().headers.get('signature-input')).to.include(`keyid="${first.id}"`)
  })

  it('are verified by mppx, once', async () => {
    const { body } = signer.directory()
    const verifier = Server.verifier({
      nonceStore: Store.memory(),
      keyResolver: ({ keyId }) => {
        const jwk = body.keys.find(({ kid }) => kid === keyId)!
        return crypto.subtle.importKey('jwk', { ...jwk }, 'Ed25519', true, ['verify'])
      },
    })
    const signed = request()
    const verified = await verifier.verify(signed.clone())
    expect(verified).to.deep.include({ status: 'verified' })
    expect(await verifier.verify(signed)).to.deep.include({ status: 'invalid' })
    const elsewhere = new Request('https://other.example/', { headers: request().headers })
    expect(await verifier.verify(elsewhere)).to.deep.include({ status: 'invalid' })
  })

  describe('to an upstream share a signature', () => {
    let keys = [first]
    let now = 1
    const sharing = new RequestSigner({
      keys: () => keys,
      origin: () => ORIGIN,
      clock: systemClock,
      monotonic: () => now,
    })
    const shared = (url: string) => sharing.sharedHeadersFor(new URL(url))
    const verified = (url: string, headers: Readonly<Record<string, string>>, at = 0) =>
      verifySignature(new Request(url, { method: 'POST', headers }), {
        policy: {
          algorithms: ['ed25519'],
          requiredComponents: ['@authority'],
          requiredParameters: ['created', 'expires', 'keyid', 'tag'],
          now: Math.floor(Date.now() / 1_000) + at,
        },
        resolveVerifier: ({ parameters }) => {
          const { publicKey } = keys.find(({ id }) => id === parameters.keyid)!
          const key = publicKeyOf(publicKey)
          return { algorithm: 'ed25519', verify: (data, bytes) => verify(null, data, key, bytes) }
        },
      })

    it('that is valid for every request to its host, and for no other host', async () => {
      const headers = shared('http://api.example/a')
      expect(shared('http://api.example/b?c=d')).to.equal(headers)
      const { parameters } = await verified('http://api.example/b', headers)
      expect(parameters).to.include({ keyid: first.id, tag: 'web-bot-auth' })
      expect(parameters).not.to.have.property('nonce')
      for (const other of ['http://other.example/a', 'http://api.example:8080/a']) {
        expect(shared(other), other).not.to.deep.equal(headers)
        const error = await verified(other, headers).catch((each: unknown) => each)
        expect(error, other).to.have.property('code', 'VerificationFailed')
      }
    })

    it('for a minute, after which it is valid for another', async () => {
      const headers = shared('http://api.example/a')
      now += 59_999
      expect(shared('http://api.example/a')).to.equal(headers)
      await verified('http://api.example/a', headers, 119)
      const expired = await verified('http://api.example/a', headers, 121).catch(String)
      expect(expired).to.match(/expire/i)
      now += 2
      expect(shared('http://api.example/a')).not.to.equal(headers)
    })

    it('by the current key, from its rotation on', async () => {
      const headers = shared('http://api.example/a')
      keys = [second, first]
      const anew = shared('http://api.example/a')
      expect(anew).not.to.equal(headers)
      const { parameters } = await verified('http://api.example/a', anew)
      expect(parameters.keyid).to.equal(second.id)
    })
  })
})
