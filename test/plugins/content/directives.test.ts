import { expect } from 'chai'
import { directivesOf } from '../../../plugins/content/directives.ts'

describe('what a page asks of robots', () => {
  const read = (header: string | string[] | undefined, html = '') =>
    directivesOf(header, Buffer.from(html))

  it('is in its header and its meta elements, each directive once', () => {
    const html =
      '<meta name="Robots" content="noai, NOINDEX"><meta name="agenthub" content="nocache">'
    expect(read(['noai', 'noimageai'], html)).to.deep.equal([
      'noai',
      'noimageai',
      'noindex',
      'nocache',
    ])
    expect(read(undefined)).to.deep.equal([])
  })

  it('counts for this robot and for all, not for others', () => {
    expect(read('agenthub: noai')).to.deep.equal(['noai'])
    expect(read('otherbot: noindex, noai')).to.deep.equal([])
    expect(read('noindex, otherbot: noai, agenthub: noimageai')).to.deep.equal([
      'noindex',
      'noimageai',
    ])
    expect(read('unavailable_after: 2026-12-31, max-snippet: 50')).to.deep.equal([
      'unavailable_after: 2026-12-31',
      'max-snippet: 50',
    ])
  })
})
