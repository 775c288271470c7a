import { expect } from 'chai'
import type { KeyRing } from '../../../core/identity/keys.ts'
import { createAuthenticate } from '../../../server/proxy/authenticate.ts'
import type { CallRequest } from '../../../server/proxy/call.ts'

describe('who calls without a key', () => {
  const authenticate = createAuthenticate({} as KeyRing, () => false)
  const from = (address: string) =>
    authenticate({ slug: 'echo', authorization: undefined, ip: () => address } as CallRequest)

  it('is at an address', async () => {
    expect(await from('192.0.2.7')).to.deep.equal({ keyId: null, ip: '192.0.2.7' })
  })

  it('has gone where there is none: a payment would be kept for nobody', async () => {
    const fault = await from('').catch((error: unknown) => error)
    expect(fault).to.have.property('code', 'caller_gone')
  })
})
