import { Readable } from 'node:stream'
import { expect } from 'chai'
import { Fault } from '../../../core/errors.ts'
import { Slots } from '../../../core/runtime/slots.ts'
import type { CallOutcome, PricedCall } from '../../../server/proxy/call-types.ts'
import { chargeNothing, KEYLESS_BYTES_MAX } from '../../../server/proxy/funds/no-charge.ts'

const keyless = (ip: string) => ({ caller: { keyId: null, ip } })
const keyed = { caller: { keyId: 'key_1' } } as PricedCall
const delivered = (body: unknown) => ({ kind: 'delivered', body }) as CallOutcome

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

  it('have short responses; streams are sent as they are read', async () => {
    const deps = { keylessCalls: new Slots({ max: 9, maxPerKey: 9 }) }
    const funds = chargeNothing(deps, keyless('192.0.2.1'))
    await funds.settle(delivered(Buffer.alloc(KEYLESS_BYTES_MAX)))
    await funds.settle(delivered(Readable.from([])))
    const long = Buffer.alloc(KEYLESS_BYTES_MAX + 1)
    const fault: unknown = await funds.settle(delivered(long)).catch((error: unknown) => error)
    expect((fault as Fault).code).to.equal('response_needs_key')
    await chargeNothing(deps, keyed).settle(delivered(long))
  })
})
