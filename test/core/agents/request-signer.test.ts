import { verify } from 'node:crypto'
import { expect } from 'chai'
import { Server } from 'mppx/attestation/web-bot-auth'
import { Store } from 'mppx/server'
import { RequestSigner } from '../../../core/agents/request-signer.ts'
import { systemClock } from '../../../core/clock.ts'
import { publicKeyOf } from '../../../core/crypto/signed-note.ts'
import { signingKeyOf } from '../../../core/crypto/signing-key.ts'
import { newAgentKey } from '../../stories/agent-keys.ts'

const ORIGIN = 'https://hub.example'
const SELLER = 'https://seller.example/buy?thing=1'

describe('requests of the hub', () => {
  const first = signingKeyOf(newAgentKey().privateKey)
  const second = signingKeyOf(newAgentKey().privateKey)
  const signer = new RequestSigner({
    keys: () => [first, second],
    origin: () => ORIGIN,
    clock: systemClock,
  })
  const request = () =>
    new Request(SELLER, { method: 'POST', headers: signer.headersFor('POST', SELLER) })

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
})
