import { expect } from 'chai'
import { extract } from '../../../../plugins/content/extract/extract.ts'
import { ExtractionError, read } from '../../../../plugins/content/extract/index.ts'
import { PARAGRAPHS, page, TEXT, URL_OF_PAGE } from './pages.ts'

const MEGABYTE = 2 ** 20
const fill = (part: string, bytes = MEGABYTE / 4): string => part.repeat(bytes / part.length)

const PARAGRAPH = '<p>One sentence, and then another one, that is long.</p>'
const LINKED = '<script type="application/ld+json">'

/** Streamed parts, each with the place of the next one at the bottom of many elements. */
const STREAMED = Array.from(
  { length: 99 },
  (_, at) => `<div hidden id="S:${at}">${'<b>'.repeat(190)}<template id="B:${(at + 1) % 99}">
    </template>${'</b>'.repeat(190)}</div>`,
).join('<template id="B:0"></template>')

/** Refusal code, or length of the text. */
function outcomeOf(html: string): string | number {
  try {
    return extract(html, URL_OF_PAGE).text.length
  } catch (error) {
    if (error instanceof ExtractionError) return error.code
    throw error
  }
}

// Each of these took minutes or the whole stack in some parser or selector.
describe('a hostile page', () => {
  for (const [what, html] of Object.entries({
    'nests without end': fill('<div>'),
    'nests in links without end': fill('<a href=x>'),
    'has more nodes than any page': fill('<p>', MEGABYTE),
    'leaves foreign elements open': fill('<div><svg></div>'),
    'is longer than any page': fill('x', 9 * MEGABYTE),
  })) {
    it(`is refused if it ${what}`, () => {
      expect(outcomeOf(html)).to.equal('content_unreadable')
    })
  }

  const many = Array.from({ length: 20_000 }, (_, at) => `a${at}`).join(' ')
  for (const [what, html] of Object.entries({
    'an element of 20,000 attributes': `<p ${many}>x</p>${PARAGRAPHS}`,
    '5,000 paragraphs side by side': fill(
      '<p>One sentence, and then another one, that is long.</p>',
    ),
    'closing tags of nothing': `${'<b>'.repeat(300)}${fill('</i>')}${PARAGRAPHS}`,
    'bold within bold within bold': `${'<b>'.repeat(390)}${fill('words, ')}`,
    'spaces within bold within bold': `${'<b>'.repeat(390)}${fill(' \n')}x`,
    'quotes within quotes': `${'<blockquote>'.repeat(390)}${fill('<p>Words, words, words.')}`,
    'one word of back quotes': `<p>${fill('`')}`,
    'nothing but spaces': `<p>${fill(' \n')}x`,
    'a class without end': `<div class="${fill('related-')}"><main>${PARAGRAPHS}</main></div>`,
    'formulas within formulas': `${'<b class="katex">'.repeat(390)}${fill('<math></math>')}
      ${PARAGRAPHS}`,
    'anchors of headings': fill('<a class="headerlink gutter" href="#x"></a>') + PARAGRAPHS,
    'streamed parts that stand in each other': STREAMED + PARAGRAPHS,
    'linked data without end': `${LINKED}${fill('[')}</script>${PARAGRAPHS}`,
  })) {
    it(`is read in linear time and bounded depth: ${what}`, () => {
      expect(outcomeOf(html)).to.be.a('number').above(0)
    })
  }

  it('does not block the event loop, because a worker thread reads it', async () => {
    const reading = read({
      body: Buffer.from(fill(PARAGRAPH)),
      contentType: 'text/html',
      url: URL_OF_PAGE,
    })
    let turns = 0
    const timer = setInterval(() => {
      turns++
    }, 1)
    await reading
    clearInterval(timer)
    expect((await reading).word_count).to.be.above(40_000)
    expect(turns).to.be.above(5)
  })

  it('is abandoned when the call is aborted, and the next page is read', async () => {
    const leaving = new AbortController()
    const body = Buffer.from(fill(PARAGRAPH))
    const reading = read({ body, contentType: 'text/html', url: URL_OF_PAGE }, {}, leaving.signal)
    leaving.abort(new Error('gone'))
    expect(await reading.catch((error: Error) => error.message)).to.equal('gone')
    const next = { body: Buffer.from(page(PARAGRAPHS)), contentType: 'text/html', url: URL_OF_PAGE }
    expect((await read(next)).text).to.equal(TEXT)
  })

  it('is refused if an exclude selector is invalid', () => {
    expect(() => extract(page(PARAGRAPHS), URL_OF_PAGE, { exclude: ['div['] })).to.throw(
      ExtractionError,
    )
  })
})
