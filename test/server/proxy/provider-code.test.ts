import { Readable } from 'node:stream'
import { expect } from 'chai'
import { Fault } from '../../../core/errors.ts'
import { type AnyEndpoint, Reply } from '../../../core/plugin/index.ts'
import { LARGE_BYTES } from '../../../server/proxy/expected-lengths.ts'
import { sendableBody, withDeadline } from '../../../server/proxy/provider-code.ts'
import { eventually } from '../../support/eventually.ts'

describe('a response of provider code', () => {
  it('that is too late and cannot be discarded fails only its own call', async () => {
    const endpoint = { deadlineSeconds: 0.01 } as AnyEndpoint
    const late = Promise.withResolvers<Reply>()
    const failure = await withDeadline(endpoint, () => late.promise).catch((error: Error) => error)
    expect(failure).to.include({ name: 'TimeoutError' })

    let attempts = 0
    const stuck = new Readable({ read: () => undefined })
    stuck.destroy = () => {
      attempts++
      throw new Error('stuck')
    }
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.prependListener('unhandledRejection', note)
    late.resolve(new Reply(stuck))
    await eventually(() => attempts === 1)
    await new Promise(setImmediate) // an unhandled rejection is reported by then
    process.off('unhandledRejection', note)
    expect(unhandled).to.deep.equal([])
  })

  it('A326 asks nobody to pay or to sign in, in a header or in a body of x402', () => {
    const accepts = [{ scheme: 'exact', network: 'base', payTo: `0x${'5'.repeat(40)}` }]
    const bodies = [{ x402Version: 1, accepts }, { x402Version: 2, accepts }, '{}', Buffer.of(1)]
    for (const status of [401, 402, 407]) {
      for (const isCharged of [false, true]) {
        for (const body of bodies) {
          const reply = new Reply(body, { status, isCharged })
          expect(() => sendableBody(reply), `${status}`)
            .to.throw(Fault)
            .with.property('code', 'plugin_contract')
        }
      }
    }
  })

  it('is serialized once if its JSON is large in bytes, whatever its characters', () => {
    for (const [char, bytes] of [
      ['a', 1],
      ['é', 2],
      ['漢', 3],
      ['😀', 4],
    ] as const) {
      const fits = char.repeat(Math.floor((LARGE_BYTES - 2) / bytes))
      expect(sendableBody(new Reply(fits)), char).to.equal(fits)
      const large = fits + char.repeat(2)
      expect(sendableBody(new Reply(large)), char).to.deep.equal(Buffer.from(`"${large}"`))
    }
  })
})
