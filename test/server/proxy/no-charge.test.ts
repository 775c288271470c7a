import { expect } from 'chai'
import { Fault } from '../../../core/errors.ts'
import { Slots } from '../../../core/runtime/slots.ts'
import type { PricedCall } from '../../../server/proxy/call-types.ts'
import { chargeNothing } from '../../../server/proxy/funds/no-charge.ts'

const keyless = (ip: string) => ({ caller: { keyId: null, ip } })
const keyed = { caller: { keyId: 'key_1' } } as PricedCall

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'ok'
  } catch (error) {
    return error instanceof Fault ? error.code : String(error)
  }
}

describe('free calls without a key', () => {
  it('A142 run at once up to a limit by network and in total; keyed calls do not', async () => {
    const deps = { keylessCalls: new Slots({ max: 3, maxPerKey: 2 }) }
    const code = (ip: string) => codeOf(() => chargeNothing(deps, keyless(ip)))
    const first = chargeNothing(deps, keyless('192.0.2.1'))
    expect(code('192.0.2.2')).to.equal('ok')
    expect(code('192.0.2.3'), 'a third one of the network').to.equal('concurrency_limited')
    expect(code('198.51.100.1')).to.equal('ok')
    expect(code('203.0.113.1'), 'a fourth one').to.equal('concurrency_limited')
    for (let i = 0; i < 10; i++) expect(codeOf(() => chargeNothing(deps, keyed))).to.equal('ok')
    await first[Symbol.asyncDispose]()
    await first[Symbol.asyncDispose]()
    expect(code('203.0.113.1'), 'after one has ended').to.equal('ok')
    expect(code('203.0.113.2')).to.equal('concurrency_limited')
  })
})
