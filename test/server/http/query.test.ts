import { expect } from 'chai'
import { Fault } from '../../../core/errors.ts'
import { readQuery } from '../../../server/http/query.ts'

describe('A136 the query of a request', () => {
  const contextOf = (querystring: string) => ({
    querystring,
    get query(): Record<string, string> {
      if (querystring.length > 1_000) throw new Error('it was parsed')
      return { a: '1' }
    },
  })

  it('is read', () => {
    expect(readQuery(contextOf('a=1'))).to.deep.equal({ a: '1' })
  })

  it('is refused before it is parsed if it has many parameters', () => {
    expect(() => readQuery(contextOf('a=1&'.repeat(5_000)))).to.throw(Fault, 'at most 200')
  })
})
