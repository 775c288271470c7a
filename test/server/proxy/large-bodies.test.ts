import { Readable } from 'node:stream'
import { expect } from 'chai'
import { Fault } from '../../../core/errors.ts'
import type { CallOutcome, Funds, PricedCall } from '../../../server/proxy/call-types.ts'
import { ExpectedLengths, LARGE_BYTES } from '../../../server/proxy/expected-lengths.ts'
import { countBody, expectBody, KEYLESS_BYTES_MAX } from '../../../server/proxy/large-bodies.ts'

const LONG = Buffer.alloc(KEYLESS_BYTES_MAX + 1)
const delivered = (body: unknown) => ({ kind: 'delivered', body }) as CallOutcome
const funded = (source: Funds['source']) => ({ source }) as Funds

describe('a large response', () => {
  const reserved: number[] = []
  let hasMemory = true
  let deps: { expectedLengths: ExpectedLengths; creditsOnly: ReadonlySet<string> }
  beforeEach(() => {
    reserved.length = 0
    hasMemory = true
    deps = { expectedLengths: new ExpectedLengths(), creditsOnly: new Set(['external']) }
  })

  const callBy = (keyId: string | null, slug = 'echo') =>
    ({
      request: {
        slug,
        reserveMemory: (bytes: number) => {
          reserved.push(bytes)
          return hasMemory
        },
      },
      caller: { keyId },
      offering: { endpointId: 1 },
      price: 0n,
    }) as unknown as PricedCall

  const codeOf = async (work: () => unknown): Promise<string> => {
    try {
      await work()
      return 'ok'
    } catch (error) {
      return error instanceof Fault ? error.code : String(error)
    }
  }
  const count = (priced: PricedCall, body: unknown, source: Funds['source'] = 'none') =>
    codeOf(() => countBody(deps, priced, funded(source), delivered(body)))

  it('A142 needs a key if nobody pays for it; streams are sent as they are read', async () => {
    const keyless = callBy(null)
    expect(await count(keyless, LONG.subarray(1))).to.equal('ok')
    expect(await count(keyless, Readable.from([]))).to.equal('ok')
    expect(await count(keyless, LONG)).to.equal('response_needs_key')
    expect(await count(keyless, LONG, 'x402')).to.equal('ok')
    expect(await count(callBy('key_1'), LONG)).to.equal('ok')
  })

  it('A141 counts before it is charged, and is refused without memory', async () => {
    hasMemory = false
    for (const source of ['none', 'free', 'credits', 'x402'] as const) {
      expect(await count(callBy('key_1'), LONG, source), source).to.equal('concurrency_limited')
    }
    expect(await count(callBy('key_1', 'external'), LONG, 'credits'), 'paid').to.equal('ok')
    expect(new Set(reserved)).to.deep.equal(new Set([LONG.length]))
  })

  it('is expected of an endpoint that had one: free calls wait for memory and a turn', async () => {
    const keyed = callBy('key_1')
    await count(keyed, LONG)
    reserved.length = 0
    let turns = 0
    const before = Promise.all(
      [1, 2, 3].map(async () => {
        await expectBody(deps, keyed, funded('none'))
        turns++
      }),
    )
    expect(reserved).to.deep.equal([LONG.length, LONG.length, LONG.length])
    await new Promise(setImmediate)
    expect(turns, 'one at a time').to.be.below(3)
    await before
    hasMemory = false
    const refused = () => expectBody(deps, keyed, funded('free'))
    expect(await codeOf(refused)).to.equal('concurrency_limited')
    expect(expectBody(deps, keyed, funded('credits')), 'a paid call').to.equal(undefined)
  })

  it('costs calls of endpoints with small ones nothing', async () => {
    const keyed = callBy('key_1')
    expect(expectBody(deps, keyed, funded('none')), 'the first one').to.be.instanceOf(Promise)
    for (let i = 0; i < 3; i++) await count(keyed, { words: 'short' })
    reserved.length = 0
    expect(expectBody(deps, keyed, funded('none'))).to.equal(undefined)
    expect(await count(keyed, { words: 'short' })).to.equal('ok')
    expect(reserved).to.deep.equal([])
  })

  it('is forgotten after a few small ones', async () => {
    const keyed = callBy('key_1')
    await count(keyed, Buffer.alloc(8 * LARGE_BYTES))
    for (let i = 0; i < 3; i++) await count(keyed, 'short')
    expect(expectBody(deps, keyed, funded('none'))).to.equal(undefined)
  })
})
