import { Readable } from 'node:stream'
import { expect } from 'chai'
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
