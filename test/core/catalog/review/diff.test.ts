import { expect } from 'chai'
import { diffContent } from '../../../../core/catalog/review/diff.ts'

describe('differences between two versions', () => {
  const endpoint = (more: object = {}) => ({ method: 'GET', path: '/a', summary: 'A.', ...more })

  it('name each place with its text before and after, texts before schemas', () => {
    const before = { name: 'A', baseUrl: 'https://a.example', endpoints: [endpoint()] }
    const input = { properties: { city: { description: 'City.' } } }
    const after = { name: 'B', baseUrl: 'https://a.example', endpoints: [endpoint({ input })] }
    expect(diffContent(before, after)).to.deep.equal([
      { at: 'name', before: 'A', after: 'B' },
      {
        at: 'endpoints, GET /a, input, properties, city, description',
        before: null,
        after: 'City.',
      },
    ])
  })

  it('ignore the order of endpoints, and show added and removed ones', () => {
    const other = endpoint({ path: '/b' })
    expect(diffContent({ endpoints: [endpoint(), other] }, { endpoints: [other, endpoint()] })).to
      .be.empty
    const removed = diffContent({ endpoints: [endpoint(), other] }, { endpoints: [endpoint()] })
    expect(removed.map(({ at, after }) => [at, after])).to.deep.equal([
      ['endpoints, GET /b, method', null],
      ['endpoints, GET /b, path', null],
      ['endpoints, GET /b, summary', null],
    ])
    const added = diffContent({}, { name: 'A', tags: [] })
    expect(added).to.deep.equal([
      { at: 'name', before: null, after: 'A' },
      { at: 'tags', before: null, after: '[]' },
    ])
  })
})
