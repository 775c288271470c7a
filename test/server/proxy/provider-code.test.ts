import { Readable } from 'node:stream'
import { expect } from 'chai'
import { type AnyEndpoint, Reply } from '../../../core/plugin/index.ts'
import { withDeadline } from '../../../server/proxy/provider-code.ts'
import { eventually } from '../../support/eventually.ts'

describe('an answer of provider code', () => {
  it('that comes too late, and cannot even be let go of, ends nothing but its call', async () => {
    const endpoint = { deadlineSeconds: 0.01 } as AnyEndpoint
    const late = Promise.withResolvers<Reply>()
    const told = await withDeadline(endpoint, () => late.promise).catch((error: Error) => error)
    expect(told).to.include({ name: 'TimeoutError' })

    let tries = 0
    const stuck = new Readable({ read: () => undefined })
    stuck.destroy = () => {
      tries++
      throw new Error('stuck')
    }
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.prependListener('unhandledRejection', note)
    late.resolve(new Reply(stuck))
    await eventually(() => tries === 1)
    await new Promise(setImmediate) // by then an error that nobody caught is told
    process.off('unhandledRejection', note)
    expect(unhandled).to.deep.equal([])
  })
})
