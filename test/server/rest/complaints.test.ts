import { expect } from 'chai'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { parse } from '../../../server/rest/route.ts'

const Body = z.strictObject({
  name: z.string().min(2),
  limit: z.int().min(1).max(100),
  kind: z.enum(['a', 'b']),
  wallet: z.string().regex(/^0x/, 'not a wallet').optional(),
})

/** What is told of a bad body. */
const told = (value: unknown): unknown => {
  try {
    parse(Body, value)
  } catch (error) {
    if (error instanceof Fault) return error.extras['issues']
  }
  return 'nothing'
}

describe('what is wrong with a body', () => {
  const good = { name: 'ab', limit: 5, kind: 'a' }
  it('is told with what would be right', () => {
    expect(told({ ...good, limit: undefined })).to.deep.equal([
      { path: '/limit', message: 'is required' },
    ])
    expect(told({ ...good, limit: '5' })).to.deep.equal([
      { path: '/limit', message: 'must be a number' },
    ])
    expect(told({ ...good, limit: 101, name: 'a' })).to.deep.equal([
      { path: '/name', message: 'must have a length of at least 2' },
      { path: '/limit', message: 'must be at most 100' },
    ])
    expect(told({ ...good, kind: 'c', lim: 1 })).to.deep.equal([
      { path: '/kind', message: 'is not one of the allowed values', allowed: ['a', 'b'] },
      {
        path: '/lim',
        message: 'is not known here',
        allowed: ['name', 'limit', 'kind', 'wallet'],
      },
    ])
    expect(told(good)).to.equal('nothing')
  })

  it('is told in the words of its schema, where it has some', () => {
    expect(told({ ...good, wallet: '12' })).to.deep.equal([
      { path: '/wallet', message: 'not a wallet' },
    ])
  })

  it('is told at most twenty times', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x${n}`, n]))
    expect(told({ ...good, ...many })).to.have.length(20)
  })
})
