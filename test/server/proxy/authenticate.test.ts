import { expect } from 'chai'
import type { KeyRing } from '../../../core/identity/keys.ts'
import { authenticate } from '../../../server/proxy/authenticate.ts'
import type { CallRequest } from '../../../server/proxy/call-types.ts'
import type { SignInDeps } from '../../../server/proxy/sign-in.ts'

describe('a caller without a key', () => {
  const deps = { keys: {} as KeyRing, signIns: {} as SignInDeps }
  const from = (address: string) =>
    authenticate(deps, { slug: 'echo', authorization: undefined, ip: () => address } as CallRequest)

  it('is identified by its address', async () => {
    expect(await from('192.0.2.7')).to.deep.equal({ keyId: null, ip: '192.0.2.7' })
  })

  it('is refused without an address, which could not obtain a response again', async () => {
    const fault = await from('').catch((error: unknown) => error)
    expect(fault).to.have.property('code', 'caller_gone')
  })
})
