import { expect } from 'chai'
import { isReservedHeader } from '../../../server/proxy/reserved-headers.ts'

describe('a header that a provider may not set', () => {
  it('A322 is one that asks callers to pay or to sign in, whatever its case', () => {
    const names = ['WWW-Authenticate', 'www-authenticate', 'PAYMENT-REQUIRED', 'Proxy-Authenticate']
    expect(names.filter((name) => !isReservedHeader(name))).to.deep.equal([])
  })

  it('is one in which the hub states what was used, charged, and which agent called', () => {
    const names = ['X-Usage', 'X-Charged-Microdollars', 'X-Agent', 'X-Agent-Problem', 'X-Receipt']
    expect(names.filter((name) => !isReservedHeader(name))).to.deep.equal([])
  })

  it('is none of its own, nor one about its body', () => {
    const names = ['X-Own', 'x-usage-total', 'x-agent-version', 'Content-Type', 'Location', 'ETag']
    expect(names.filter(isReservedHeader)).to.deep.equal([])
  })
})
