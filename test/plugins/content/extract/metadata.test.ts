import { expect } from 'chai'
import { articleIn, PARAGRAPHS, page, URL_OF_PAGE } from './pages.ts'

const ld = (value: unknown): string =>
  `<script type="application/ld+json">${JSON.stringify(value)}</script>`

describe('page metadata', () => {
  it('is read from elements if nothing else provides it', () => {
    const article = articleIn(page(`<time datetime="2026-05-04T07:30+02:00"></time>${PARAGRAPHS}`))
    expect(article).to.include({
      url: URL_OF_PAGE,
      canonical_url: URL_OF_PAGE,
      title: 'Harbour closed for repairs',
      byline: 'Mara Holm',
      published_at: '2026-05-04T07:30:00+02:00',
      modified_at: null,
      lang: 'en-GB',
      description: null,
      content_type: 'text/html',
    })
  })

  it('has the title of the article, not the name of the site that links to its first page', () => {
    const head = '<title>Harbor news: Seven seals rescued</title>'
    for (const href of ['/', 'https://harbor.example', '//harbor.example/']) {
      const heading = `<h1><a href="${href}"><span>Harbor</span> news</a></h1>`
      const html = `<html><head>${head}</head><body>${heading}<h1>Seven seals rescued</h1>`
      expect(articleIn(`${html}${PARAGRAPHS}`).title).to.equal('Seven seals rescued')
    }
    const own = '<h1><a href="/2026/seals">Seven seals rescued</a></h1>'
    expect(articleIn(`<html><head>${head}</head><body>${own}${PARAGRAPHS}`).title).to.equal(
      'Seven seals rescued',
    )
  })

  it('is read from meta elements and the canonical link', () => {
    const head = `<link rel="canonical" href="/2026/harbour?a=1">
      <meta name="description" content=" Cracks in  two pillars ">
      <meta property="article:published_time" content="Mon, 04 May 2026 05:30:00 GMT">
      <meta property="article:modified_time" content="2026-05-05">`
    expect(articleIn(page(PARAGRAPHS, head))).to.include({
      canonical_url: 'https://news.example/2026/harbour?a=1',
      description: 'Cracks in two pillars',
      published_at: '2026-05-04T05:30:00Z',
      modified_at: '2026-05-05',
    })
  })

  it('is read from linked data, including graphs with references', () => {
    const graph = {
      '@graph': [
        { '@type': 'Person', '@id': '#mara', name: 'Mara Holm' },
        {
          '@type': ['NewsArticle'],
          author: [{ '@id': '#mara' }, { name: 'Jo Lind' }, 'Ina Berg'],
          datePublished: '2026-05-04',
          inLanguage: 'en',
        },
      ],
    }
    expect(articleIn(page(PARAGRAPHS, ld(graph)))).to.include({
      byline: 'Mara Holm, Jo Lind, Ina Berg',
      published_at: '2026-05-04',
    })
  })

  it('never causes a failure: broken linked data, addresses and dates are skipped', () => {
    const head = `<script type="application/ld+json">{"@type":</script>${ld([null, 3, ['x']])}
      <link rel="canonical" href="javascript:alert(1)"><meta name="date" content="99.99.2026">`
    expect(articleIn(page(PARAGRAPHS, head))).to.include({
      canonical_url: URL_OF_PAGE,
      published_at: null,
    })
  })

  it('omits the site name from the title and keeps dashes in titles', () => {
    const titled = (og: string, site: string): string =>
      articleIn(`<meta property="og:title" content="${og}"><meta property="og:site_name"
        content="${site}">${PARAGRAPHS}`).title
    expect(titled('Harbour closed | Coast Daily', 'Coast Daily')).to.equal('Harbour closed')
    expect(titled('Harbour - closed', 'Coast Daily')).to.equal('Harbour - closed')
  })

  it('lists headings with unique ids, and absolute links and images once each', () => {
    const { headings, links, images } = articleIn(
      page(`<h2 id="why">Why?</h2>${PARAGRAPHS}<h3>Übersicht der Fähren</h3><p>See <a href="/f#x">
        lines</a>, <a href="/f#x">again</a>, <a href="mailto:a@b.example">mail</a> and more.</p>
        <h3>Übersicht der Fähren</h3><p>Another sentence, which is long enough to stay here.</p>
        <img src="data:,x" data-src="/p.jpg" alt="A pier"><img src="/count.gif" width="1">`),
    )
    expect(headings).to.deep.equal([
      { level: 1, text: 'Harbour closed for repairs', id: 'harbour-closed-for-repairs' },
      { level: 2, text: 'Why?', id: 'why' },
      { level: 3, text: 'Übersicht der Fähren', id: 'übersicht-der-fähren' },
      { level: 3, text: 'Übersicht der Fähren', id: 'übersicht-der-fähren-2' },
    ])
    expect(links).to.deep.equal([{ href: 'https://news.example/f#x', text: 'lines' }])
    expect(images).to.deep.equal([{ src: 'https://news.example/p.jpg', alt: 'A pier' }])
  })
})
