import { expect } from 'chai'
import { extract } from '../../../../plugins/content/extract/extract.ts'
import { articleIn, PARAGRAPHS, page, TEXT, URL_OF_PAGE } from './pages.ts'

const [first = '', second = '', third = '', ...others] = PARAGRAPHS.split('\n')
const POST = 'The oak lasted for a century, and longer than anybody had thought it would.'
const textIn = (html: string): string => articleIn(page(html)).text
/** The article with a part between its paragraphs. */
const around = (part: string): string => [first, second, part, third, ...others].join('\n')

describe('a line or part that is not of the text', () => {
  for (const [what, part] of Object.entries({
    'a ticker of headlines': `<div class="ticker"><ul><li><a href="/a">Stadium opens</a></li>
      <li><a href="/b">A whale was seen</a></li></ul></div>`,
    'teasers of the articles before and after': `<div class="post-navigation"><div>
      <a href="/a"><span>Previous</span><p>Stadium opens on Sunday, with a match</p></a></div><div>
      <a href="/b"><span>Next</span><p>A whale was seen, and heard, in the bay</p></a></div></div>`,
    'a line that leads elsewhere behind a tag': '<p>[WATCH] <a href="/v">Divers at work</a></p>',
    'a line that says see more': '<p>SEE MORE: <a href="/v">Divers at work</a></p>',
    'an invitation to subscribe': '<p>Subscribe to our newsletter to read such news first.</p>',
    'a row of the date and of links to share': `<div><div>May 4, 2026</div><div>
      <a href="https://facebook.com/s">Share</a> <a href="https://x.com/s">Post</a></div></div>`,
  })) {
    it(`is omitted: ${what}`, () => {
      expect(textIn(around(part))).to.equal(TEXT)
    })
  }

  it('is omitted: the title, date and share row above a text in divs', () => {
    const row = `<div><div>Harbour closed for repairs</div><div>May 4, 2026</div>
      <div><a href="https://x.com/s">Share</a></div></div>`
    const html = `<title>Harbour closed for repairs</title><body><div>${row}<div>${PARAGRAPHS}</div>
      </div>`
    expect(extract(html, URL_OF_PAGE).text).to.equal(TEXT)
  })

  it('is omitted inside a sentence: the card that opens over a word', () => {
    const card = `<span class="hovercard"><b>Port authority</b> An office of the district.</span>`
    const sentence = first.replace('port authority', `<a href="/p">port authority</a>${card}`)
    expect(textIn(around('').replace(first, sentence))).to.equal(TEXT)
  })

  it('is kept without its card: a word of a sentence over which one opens', () => {
    const card = '<span class="tooltip-text">An office of the district.</span>'
    const word = `<span class="tooltip">port authority${card}</span>`
    expect(textIn(around('').replace('port authority', word))).to.equal(TEXT)
  })

  it('stays in the Markdown: the caption of the picture above the text', () => {
    const lead = '<div class="image"><img src="/i.png" alt=""><p>The pier on Monday</p></div>'
    const { text, markdown } = articleIn(page(lead + PARAGRAPHS))
    expect(text).to.equal(TEXT)
    expect(markdown).to.include('The pier on Monday')
  })
})

describe('a line or part of the text', () => {
  it('is kept: a headline that is the whole text of a post, even as the title of the page', () => {
    const html = `<title>${POST}</title><body><main><h1>${POST}</h1></main>`
    expect(extract(html, 'https://forum.ferry.example/t/oak/17').text).to.equal(POST)
  })

  for (const name of ['social-embed', 'video-container', 'twitter-tweet']) {
    it(`is kept: a post that is embedded in "${name}", with its signature`, () => {
      const post = `<div class="${name}"><blockquote><p>${POST}</p>— Mara Holm (@mara)
        <a href="https://x.com/mara/1">May 4, 2026</a></blockquote></div>`
      expect(textIn(around(post)))
        .to.include(POST)
        .and.match(/— Mara Holm \(@mara\)\s+May 4, 2026/)
    })
  }

  it('is kept: an item that is only a link, in a list of sentences', () => {
    const list = `<ul><li>The pillars, which were built of oak, are cracked.</li>
      <li><a href="/plan">The plan of 1893</a></li><li>Ships land at the fish market.</li></ul>`
    expect(textIn(around(list))).to.include('The plan of 1893')
  })

  it('is kept: the space between words that stands in an element of its own', () => {
    const list = '<dl><dt><em>class</em><span class="w"> </span>Ferry<b></b>man</dt></dl>'
    expect(textIn(around(list))).to.include('class Ferryman')
  })

  it('is kept: a sentence with a link to click, or with a copyright', () => {
    const lines = `<p>For the plan of all pillars <a href="/plan">click here</a>.</p>
      <p>The drawing is © 1893 by the office of the port, and may be copied.</p>`
    expect(textIn(around(lines)))
      .to.include('click here')
      .and.include('© 1893 by the office')
  })
})
