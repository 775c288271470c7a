import { expect } from 'chai'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { parse } from '../../../server/rest/route.ts'

const Body = z.strictObject({
  name: z.string().min(2),
  limit: z.int().min(1).max(100),
  kind: z.enum(['a', 'b']),
  wallet: z.string().regex(/^0x/, 'must be a wallet').optional(),
})

/** Issues of an invalid body. */
const issuesOf = (value: unknown): unknown => {
  try {
    parse(Body, value)
  } catch (error) {
    if (error instanceof Fault) return error.extras['issues']
  }
  return undefined
}

describe('input errors', () => {
  const good = { name: 'ab', limit: 5, kind: 'a' }
  it('name the path, the error and the allowed values', () => {
    expect(issuesOf({ ...good, limit: undefined })).to.deep.equal([
      { path: '/limit', message: 'is required' },
    ])
    expect(issuesOf({ ...good, limit: '5' })).to.deep.equal([
      { path: '/limit', message: 'must be a number' },
    ])
    expect(issuesOf({ ...good, limit: 101, name: 'a' })).to.deep.equal([
      { path: '/name', message: 'must have a length of at least 2' },
      { path: '/limit', message: 'must be at most 100' },
    ])
    expect(issuesOf({ ...good, kind: 'c', lim: 1 })).to.deep.equal([
      { path: '/kind', message: 'is not one of the allowed values', allowed: ['a', 'b'] },
      {
        path: '/lim',
        message: 'is not a known field',
        allowed: ['name', 'limit', 'kind', 'wallet'],
      },
    ])
    expect(issuesOf(good)).to.equal(undefined)
  })

  it('use the message of the schema if it has one', () => {
    expect(issuesOf({ ...good, wallet: '12' })).to.deep.equal([
      { path: '/wallet', message: 'must be a wallet' },
    ])
  })

  it('are at most twenty', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x${n}`, n]))
    expect(issuesOf({ ...good, ...many })).to.have.length(20)
  })
})
