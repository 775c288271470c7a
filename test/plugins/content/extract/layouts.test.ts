import { expect } from 'chai'
import { extract } from '../../../../plugins/content/extract/extract.ts'
import { articleIn, PARAGRAPHS, page, TEXT, URL_OF_PAGE } from './pages.ts'

const parts = PARAGRAPHS.split('\n')
const each = (name: string): string =>
  parts.map((part) => `<div class="${name}"><div>${part}</div></div>`).join('\n')

describe('the text of a page whose names mislead', () => {
  for (const name of [
    'elementor-widget-container',
    'widget-text',
    'newsletter-wrapper',
    'social-block',
    'rating-box',
    'modal-text',
    'post-meta',
    'gallery edition',
  ]) {
    it(`is complete if every block of it is named "${name}"`, () => {
      expect(articleIn(page(each(name))).text).to.equal(TEXT)
    })
  }

  for (const [what, attributes] of [
    ['are generated from letters and digits', 'class="css-08ad e2ad9" id="block-86ad7c4"'],
    ['end in the hash of a bundler', 'class="table_root__adKqa"'],
    ['deny the part that they mention', 'class="text no_toc_section sidebar-enabled--false"'],
    ['are words of a heading', 'id="the-most-popular-tools-for-share-prices"'],
    ['are those of a page builder', 'class="so-panel widget widget_text"'],
  ] as const) {
    it(`is complete if names of one of its blocks ${what}`, () => {
      const block = `<div ${attributes}>${parts[3]}</div>`
      const html = page([...parts.slice(0, 3), block, ...parts.slice(4)].join('\n'))
      expect(articleIn(html).text).to.equal(TEXT)
    })
  }

  for (const name of [
    'nested-nav-cards',
    'hero-banner',
    'faq-menu',
    'follow-up',
    'popular-tools',
    'toc_repairs',
  ]) {
    it(`is complete if two paragraphs of it stand in "${name}"`, () => {
      const html = [...parts.slice(0, 4), `<div class="${name}">${parts[4]}${parts[5]}</div>`]
      expect(articleIn(page(html.join(''))).text).to.equal(TEXT)
    })
  }

  it('has the headings and texts of parts that open when pressed', () => {
    const question = '<h3><button class="x">Who pays for the repairs?</button></h3>'
    const details = `<details class="disclosure"><summary>Costs</summary>${parts[5]}</details>`
    const html = page([...parts.slice(0, 4), question, parts[4], details].join(''))
    const { text } = articleIn(html)
    expect(text).to.include('Who pays for the repairs?\n\nRestaurants')
    expect(text).to.include('Costs\n\nThe council meets')
  })

  it('has its headings, however they or links in them are named', () => {
    const heading = `<h2 class="anchorWithStickyNavbar_LWe7" id="costs">Costs</h2>`
    const backlink = '<h2><a class="toc-backref" href="#id4">Repairs</a></h2>'
    const html = page([...parts.slice(0, 3), heading, parts[3], backlink, parts[4]].join(''))
    expect(articleIn(html).text).to.match(/Costs\n\nUntil[^]*Repairs\n\nRestaurants/)
  })

  it('is without its breadcrumb trail, even if the last step is a headline', () => {
    const trail = `<div class="breadcrumbs"><a href="/">Home</a><h1>Closing the harbour</h1></div>`
    const html = `<body><main><div>${trail}${PARAGRAPHS}</div></main>`
    expect(articleIn(html).text).to.equal(TEXT)
  })

  it('is not one of many parts with telling names', () => {
    const rich = parts.map((part) => `<section><div class="rich-text">${part}</div></section>`)
    const html = `<body><div>${rich[0]}<h1>Harbour</h1>${rich.slice(1).join('')}</div>`
    expect(articleIn(html).text).to.include(parts[5]!.slice(3, -4))
  })

  it('is complete if names of the layout are nested', () => {
    const nested = each('widget-text').replaceAll('<div>', '<div class="widget-container">')
    expect(articleIn(page(nested)).text).to.equal(TEXT)
  })

  it('is found in the only container, whatever its name', () => {
    const html = `<body><div class="newsletter-wrapper"><h1>Harbour</h1>${PARAGRAPHS}</div>`
    expect(articleIn(html).text).to.include(TEXT)
  })

  for (const name of ['comment-body', 'popup-page', 'sidebar-layout__main']) {
    it(`is found in parts named ${name} if the page has hardly any other text`, () => {
      const html = `<body><main><h1>Harbour</h1>${each(name)}</main>
        <footer><p>The Harbour Times is printed in the old mill since 1901.</p></footer>`
      expect(articleIn(html).text).to.include(TEXT)
    })
  }

  it('is without parts that are longer than the article', () => {
    const long = PARAGRAPHS.replaceAll('harbour', 'stadium').repeat(4)
    const html = page(`${PARAGRAPHS}<div class="comments-area">${long}</div>
      <div class="onetrust-pc"><div>${long}</div></div>`)
    expect(articleIn(html).text).to.equal(TEXT)
    const popup = `<div class="location-popup"><div>${long}</div></div>`
    expect(articleIn(page(PARAGRAPHS + popup)).text).to.equal(TEXT)
  })
})

describe('the parts of quotes, code and tables', () => {
  const keeps = (html: string): string => articleIn(page(`${parts[0]}${html}${parts[1]}`)).text

  it('keep spaces and lines of highlighted code', () => {
    const code = `<pre><span class="k">def</span><span class="w"> </span><span>f</span>():
<span class="w">    </span><span class="k">return</span><span class="w"> </span>1</pre>`
    expect(keeps(code)).to.include('def f():\n    return 1')
  })

  it('keep their rows and cells, however they are named', () => {
    const table = `<table><tr class="vcard"><th class="author">Name</th><th>Since</th></tr>
      <tr class="player-1"><td class="rating">Mara Holm</td><td class="edition">2019</td></tr>
      <tr class="related"><td>Jo Stern</td><td class="timestamp">May 4, 2026</td></tr></table>`
    expect(keeps(table)).to.include('Name Since\nMara Holm 2019\nJo Stern May 4, 2026')
  })

  it('keep a quoted post with its signature', () => {
    const post = `<blockquote class="social-post twitter-tweet"><p>The oak lasted for a century,
      and longer than anybody had thought.</p><p>— Mara Holm, May 4, 2026</p></blockquote>`
    expect(keeps(post)).to.match(/than anybody had thought\.\s+— Mara Holm, May 4, 2026/)
  })
})

describe('what a page does not show', () => {
  it('is read in its place if it was streamed after the page', () => {
    const place = '<!--$?--><template id="B:1"></template><p>Wait, it is loading.</p><!--/$-->'
    const inner = `<div hidden id="S:2">${parts[4]}</div>`
    const part = `<div hidden id="S:1">${parts[3]}<template id="P:2"></template></div>`
    const html = page([...parts.slice(0, 3), place, parts[5]].join(''))
    expect(articleIn(html + part + inner).text).to.equal(TEXT)
  })

  it('is not read twice: hidden copies of the article, even if they are marked as its text', () => {
    const copy = `<div style="display:none" itemprop="articleBody">${PARAGRAPHS}</div>`
    expect(articleIn(page(PARAGRAPHS + copy)).text).to.equal(TEXT)
  })

  it('is not read twice: the version for small screens', () => {
    const long = PARAGRAPHS + PARAGRAPHS.replaceAll('the', 'that')
    const both = `<div class="large"><div>${long}</div></div><div class="small">${long}</div>`
    expect(articleIn(page(both)).text).to.equal(articleIn(page(long)).text)
  })

  it('is read if it opens when its heading is pressed, or if it is the whole text', () => {
    const panel = `<div class="faq"><h3>Is there a bus?</h3>
      <div style="display: none">${parts[5]}</div></div>`
    expect(articleIn(page(parts.slice(0, 5).join('') + panel)).text).to.include(
      'a bus to the market',
    )
    const html = `<body><h1>Harbour</h1><div style="visibility:hidden">${PARAGRAPHS}</div>`
    expect(articleIn(html).text).to.include(TEXT)
  })

  it('is read from noscript if the page is built by a script, and never beside a text', () => {
    const thread = `<body><noscript><h1>Harbour</h1>${PARAGRAPHS}</noscript><div id="app"></div>`
    expect(articleIn(thread).text).to.include(TEXT)
    const note =
      '<noscript><p>Please switch on scripts, as this page is built by them.</p></noscript>'
    expect(articleIn(page(PARAGRAPHS + note)).text).to.equal(TEXT)
  })
})

describe('a thread of a forum', () => {
  const posts = parts.map((part) => `<li class="comment"><div>${part}</div></li>`).join('\n')
  const html = `<body><h1>Harbour</h1><div class="first">${parts[0]}</div>
    <ol class="comments">${posts}</ol>`
  const textAt = (url: string, head = ''): string => extract(head + html, url).text

  it('has its posts, known by the address, the software or schema.org', () => {
    expect(textAt('https://forum.coast.example/t/harbour/17')).to.include('help for them')
    const software = '<meta name="generator" content="Discourse 3.2">'
    expect(textAt(URL_OF_PAGE, software)).to.include('help for them')
    const data = '<script type="application/ld+json">{"@type":"DiscussionForumPosting"}</script>'
    expect(textAt(URL_OF_PAGE, data)).to.include('help for them')
  })

  it('is without the signature and the card of who wrote each post', () => {
    const url = 'https://coast.example/community/index.php?topic=17.0'
    const card = '<div class="postprofile"><b>Mara</b><p>Captain</p><p>Posts: 17</p></div>'
    const post = (part: string): string =>
      `<div class="post">${card}<div>${part}</div><div class="signature">Ahoy</div></div>`
    const { kind, text } = extract(`<body>${parts.map(post).join('')}`, url)
    expect(kind).to.equal('forum')
    expect(text).to.equal(TEXT)
  })

  it('is read in full if it consists of comments', () => {
    const only = `<body><h1>Harbour</h1><ol class="comments">${posts}</ol>`
    expect(extract(only, URL_OF_PAGE).text).to.include('help for them')
  })
})
