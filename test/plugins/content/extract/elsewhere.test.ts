import { expect } from 'chai'
import { extract } from '../../../../plugins/content/extract/extract.ts'
import { articleIn, PARAGRAPHS, page, TEXT, URL_OF_PAGE } from './pages.ts'

const SHIPS = ['Anna', 'Berta', 'Clara']
const [first = '', second = '', ...others] = PARAGRAPHS.split('\n')
const OTHER = `<p>The stadium of the new town opened on Sunday, with a match of the under-fifteens,
  and was said by all who came to be far too large.</p>`
const LINK = '<p><a href="/stadium">Stadium opens</a></p>'
const textIn = (html: string): string => articleIn(page(html)).text

describe('what stands in the column of a text and leads elsewhere', () => {
  for (const heading of ['Read this next', 'More from Coast Daily', 'About the author']) {
    it(`is omitted with its heading at the end: ${heading}`, () => {
      expect(textIn(`${PARAGRAPHS}<h2>${heading}</h2>${OTHER}${LINK}`)).to.equal(TEXT)
    })

    it(`is omitted if heading and text are wrapped: ${heading}`, () => {
      const head = `<div><div><h3>${heading}</h3></div></div>`
      const wrapped = `${head}<div>${OTHER}</div><div>${LINK}</div>`
      expect(textIn(`${PARAGRAPHS}${wrapped}`)).to.equal(TEXT)
    })
  }

  it('ends at the next heading or paragraph of the text', () => {
    const links = `<h3>Related stories</h3>${LINK}`
    expect(textIn([first, links, second, ...others].join('\n'))).to.equal(TEXT)
    const follows = `<h3>The council</h3>${others.join('\n')}`
    expect(textIn(`${first}${second}${links}${follows}`)).to.match(/west\.|The council/)
  })

  it('is kept if it is a large part of the text', () => {
    const long = `<h2>Popular</h2>${PARAGRAPHS}`
    expect(textIn(`${first}${second}${long}`)).to.include(TEXT)
  })

  it('is a paragraph or box about the author', () => {
    const bio =
      '<p>Mara Holm is a reporter from Kiel, and has written about ships for ten years.</p>'
    const box = `<div itemprop="author" itemscope>${OTHER}</div>`
    const author = '<meta name="author" content="Mara Holm">'
    const { text } = articleIn(page(`${PARAGRAPHS}${bio}${box}`, author))
    expect(text).to.equal(TEXT)
  })

  it('is an article with a linked heading beside others, even if the text is shorter', () => {
    const listed = ['a', 'b', 'c'].map(
      (name) => `<article><h3><a href="/${name}">Stadium ${name}</a></h3>${OTHER}</article>`,
    )
    const html = `<body><h1>Harbour</h1><div><div>${PARAGRAPHS}</div>
      <div class="posts">${listed.join('')}</div></div>`
    expect(extract(html, URL_OF_PAGE).text).to.equal(TEXT)
  })

  it('is every other post below the only one of the page, however short that is', () => {
    const listed = ['a', 'b', 'c'].map(
      (name) => `<article><h2><a href="/${name}">Post ${name}</a></h2>${OTHER.repeat(3)}</article>`,
    )
    const own = `<article><h1>Harbour</h1>${first}${second}</article>`
    const html = `<body><main>${own}<div class="wrap">${listed.join('')}</div></main>`
    const { text } = extract(html, URL_OF_PAGE)
    expect(`<p>${text.replace('\n\n', '</p><p>')}</p>`).to.equal(first + second)
  })

  it('is a widget with reviews of the company', () => {
    const widget = (name: string): string => `<div class="${name}"><div>${OTHER}</div></div>`
    expect(textIn(`${PARAGRAPHS}${widget('grw-reviews')}${widget('ti-widget')}`)).to.equal(TEXT)
  })

  it('is the invitation of a paywall', () => {
    const gate =
      '<div><p>This article is exclusive to members</p><p>Already a member? Log in</p></div>'
    expect(textIn(`${PARAGRAPHS}${gate}`)).to.equal(TEXT)
  })
})

describe('links in the column of a text', () => {
  const list = (to: string, rel = ''): string =>
    `<ul>${SHIPS.map((n) => `<li><a ${rel} href="${to}/${n}">The ${n}</a></li>`).join('')}</ul>`

  it('are kept if they lead to other sites', () => {
    expect(textIn(`${PARAGRAPHS}<h2>Ships</h2>${list('https://ships.example')}`)).to.include(
      'The Berta',
    )
    expect(textIn(`${PARAGRAPHS}${list('https://archive.news.example')}`)).to.equal(TEXT)
  })

  it('are omitted if they are paid for, or lead to networks', () => {
    const paid = list('https://shop.test', 'rel="nofollow sponsored"')
    expect(textIn(`${PARAGRAPHS}${paid}${list('https://www.facebook.com')}`)).to.equal(TEXT)
  })
})

describe('what a page hides', () => {
  it('is omitted even in code: a copy of the text in other markup', () => {
    for (const copy of [TEXT.slice(0, 300), `${TEXT}\n${TEXT.slice(0, 100)}`])
      expect(textIn(`${PARAGRAPHS}<pre hidden># Harbour\n${copy}</pre>`)).to.equal(TEXT)
  })

  it('is read if a button before it opens it', () => {
    const question = '<h3><a role="button" aria-expanded="false">Who pays?</a></h3>'
    const answer = `${question}<div hidden>${OTHER}</div>`
    expect(textIn(`${PARAGRAPHS}${answer}`)).to.include('The stadium of the new town')
  })

  it('is omitted if it is a dialog over the page, however long', () => {
    const terms = `<div role="dialog" aria-modal="true"><h1>Terms</h1>${OTHER.repeat(20)}</div>`
    expect(
      extract(`<body><h1>Harbour</h1><div>${PARAGRAPHS}</div>${terms}`, URL_OF_PAGE).text,
    ).not.to.include('stadium')
  })

  it('is never the footer of the page instead of a short text', () => {
    const html = `<body><h1>Harbour</h1><div>${first}</div><footer>${OTHER.repeat(5)}</footer>`
    expect(extract(html, URL_OF_PAGE).text).not.to.include('stadium')
  })
})

describe('the text of documentation', () => {
  const docs = (body: string): string =>
    extract(`<body><main>${body}</main>`, 'https://docs.example/a').text

  it('includes the paragraph above its sections', () => {
    const header = `<div class="top"><h1>Harbours</h1><section>${first}</section></div>`
    expect(
      docs(`${header}<div>${PARAGRAPHS.repeat(3)}</div>`).match(/closed to ferries/g),
    ).to.have.length(4)
  })

  it('includes the contents of a chapter that has little else', () => {
    const rows = ['Piers', 'Pillars', 'Ferries'].map(
      (name) => `<dt><a href="#${name}">The ${name}</a></dt>`,
    )
    const list = `<dl class="toc">${rows.join('')}</dl>`
    const contents = `<div class="toc"><p>Table of Contents</p>${list}</div>`
    expect(docs(`<div class="chapter"><div><h2>Harbours</h2></div>${contents}</div>`)).to.include(
      'The Pillars',
    )
    const beside = docs(`<div class="chapter"><h2>Harbours</h2>${contents}${PARAGRAPHS}</div>`)
    expect(beside).not.to.include('The Pillars')
  })

  it('includes sections that are named like parts of a page', () => {
    const section = `<section id="cookies"><h2>Cookies</h2>${second}</section>`
    const outline = (html: string): string => `<section id="harbours">${html}</section>`
    expect(
      docs(outline(`<h1>Harbours</h1>${PARAGRAPHS}${section}`)).match(/Divers found/g),
    ).to.have.length(2)
  })
})
