import { expect } from 'chai'
import { extract } from '../../../../plugins/content/extract/extract.ts'
import type { ExtractionError } from '../../../../plugins/content/extract/index.ts'
import { articleIn, PARAGRAPHS, page, TEXT, URL_OF_PAGE } from './pages.ts'

const linked = (data: unknown): string =>
  `<script type="application/ld+json">${JSON.stringify(data)}</script>`

const SHIPS = ['Anna', 'Berta', 'Clara', 'Dora', 'Emma', 'Frieda', 'Gerda', 'Helga']
const CARDS = SHIPS.map(
  (ship) => `<article class="teaser"><h3><a href="/${ship}">Ferry ${ship}</a></h3>
    <p>Built in Bremen</p><p><a href="/${ship}/book">From 12.50 a day</a></p></article>`,
).join('')
const DESCRIPTION = `A kettle of steel for a litre and a half of water, which boils in four minutes
  and stays warm for an hour. The handle does not get hot, and the spout pours without drops.`
const OFFER = { '@type': 'Offer', price: '49.90', priceCurrency: 'EUR' }
const PRODUCT = { '@type': 'Product', name: 'Kettle', sku: 'K-15', offers: OFFER }
const REVIEWS = `<div class="customer-reviews">${PARAGRAPHS.repeat(3)}</div>`
const shop = (body: string, data: unknown): string =>
  `<head><title>Kettle</title>${linked(data)}</head><body><main><h1>Kettle</h1>${body}</main>`

describe('a page that lists others', () => {
  it('keeps every item, whose headings are links', () => {
    const list = `<main><h1>Ferries</h1><div>${CARDS}</div></main>`
    const { kind, text } = articleIn(`<body>${list}<footer><p>${DESCRIPTION}</p></footer>`)
    expect(kind).to.equal('listing')
    for (const ship of SHIPS) expect(text).to.include(`Ferry ${ship}`)
    expect(text).not.to.include('kettle')
  })
})

describe('the page of a product', () => {
  it('is without reviews, terms and variants, however long they are', () => {
    const modal = `<div class="modal-terms">${PARAGRAPHS.repeat(4)}</div>`
    const variants = `<div class="product-variations">${PARAGRAPHS}</div>`
    const html = shop(`<p>${DESCRIPTION}</p>${REVIEWS}${modal}${variants}`, PRODUCT)
    const { kind, text } = articleIn(html)
    expect(kind).to.equal('product')
    expect(text).to.match(/^A kettle of steel/)
    expect(text).not.to.include('harbour')
  })

  it('is without sections about opinions, orders and delivery, by their headings', () => {
    const sections = ['Customer reviews', 'Shipping & returns', 'Frequently bought together'].map(
      (heading) => `<div><h3>${heading}</h3><div>${PARAGRAPHS.split('\n')[0]}</div></div>`,
    )
    const html = shop(`<p>${DESCRIPTION}</p>`.repeat(3) + sections.join(''), PRODUCT)
    const { text } = articleIn(html)
    expect(text).to.include('kettle of steel').and.not.to.include('harbour')
  })

  it('keeps what it shows in sliders', () => {
    const slide = `<div class="swiper-slide"><h3>Fast</h3><p>${DESCRIPTION}</p></div>`
    const { text } = articleIn(shop(`${PARAGRAPHS}${slide}`, PRODUCT))
    expect(text).to.include('boils in four minutes')
  })

  it('has its short description above long answers to questions', () => {
    const answers = `<div class="questions"><div>${PARAGRAPHS.repeat(4)}</div></div>`
    const { text } = articleIn(shop(`<div><p>${DESCRIPTION}</p></div>${answers}`, PRODUCT))
    expect(text)
      .to.match(/^A kettle of steel/)
      .and.to.include('harbour')
  })

  it('is the declared description if the elements hold hardly any text', () => {
    const { text } = articleIn(
      shop('<p>Loading, please wait.</p>', { ...PRODUCT, description: DESCRIPTION }),
    )
    expect(text).to.match(/^A kettle of steel/)
  })

  it('declares its data in linked data or microdata', () => {
    const expected = {
      type: 'product',
      name: 'Kettle',
      description: null,
      brand: 'Iron & Co',
      sku: 'K-15',
      gtin: null,
      offers: [{ price: '49.90', currency: 'EUR', availability: 'InStock' }],
    }
    const availability = 'https://schema.org/InStock'
    const brand = { '@type': 'Brand', name: 'Iron & Co' }
    const data = { ...PRODUCT, brand, offers: [{ ...OFFER, availability }] }
    expect(articleIn(shop(`<p>${DESCRIPTION}</p>`, data)).data).to.deep.equal(expected)
    const microdata = `<body><main itemscope itemtype="https://schema.org/Product">
      <h1 itemprop="name">Kettle</h1><span itemprop="brand">Iron &amp; Co</span>
      <meta itemprop="sku" content="K-15"><div itemprop="offers" itemscope
        itemtype="https://schema.org/Offer"><b itemprop="price">49.90</b>
        <meta itemprop="priceCurrency" content="EUR">
        <link itemprop="availability" href="${availability}"></div><p>${DESCRIPTION}</p></main>`
    expect(articleIn(microdata).data).to.deep.equal(expected)
  })

  it('is shown once, although shops repeat it for small screens', () => {
    const twice = `<div class="wide"><p>${DESCRIPTION}</p></div>
      <div class="narrow"><p>${DESCRIPTION}</p></div>`
    expect(articleIn(shop(twice, PRODUCT)).text.match(/kettle of steel/g)).to.have.length(1)
  })
})

describe('the page of a recipe', () => {
  it('declares ingredients, and steps in sections', () => {
    const step = (text: string) => ({ '@type': 'HowToStep', text })
    const recipe = {
      '@type': 'Recipe',
      name: 'Fish soup',
      recipeYield: 4,
      totalTime: 'PT50M',
      recipeIngredient: ['1 kg of fish', '2 onions'],
      recipeInstructions: [
        step('Cut the <b>onions</b>.'),
        { '@type': 'HowToSection', itemListElement: [step('Boil the fish.'), step('Serve.')] },
      ],
    }
    const { kind, data } = articleIn(page(PARAGRAPHS, linked(recipe)))
    expect(kind).to.equal('recipe')
    expect(data).to.deep.equal({
      type: 'recipe',
      name: 'Fish soup',
      yield: '4',
      prep_time: null,
      cook_time: null,
      total_time: 'PT50M',
      ingredients: ['1 kg of fish', '2 onions'],
      steps: ['Cut the onions.', 'Boil the fish.', 'Serve.'],
    })
  })
})

describe('documentation', () => {
  const DOCS = 'https://docs.ferry.example/manual/timetable'

  it('keeps sections named after their headings, lists of links, and hidden tab panels', () => {
    const { kind, text } = extract(
      `<body><main><h1>Timetable</h1>${PARAGRAPHS}
        <section id="more-on-lists"><h2>More on lists</h2><p>Each line is a ferry.</p></section>
        <ul><li><a href="/winter">Timetable of the winter</a></li></ul>
        <div role="tabpanel" hidden><p>On Sundays there is one ferry only.</p></div></main>`,
      DOCS,
    )
    expect(kind).to.equal('documentation')
    expect(text).to.include('Each line is a ferry.').and.include('Timetable of the winter')
    expect(text).to.include('On Sundays there is one ferry only.')
  })
})

describe('a thread', () => {
  it('is whole if each post is an article with a headline of its own', () => {
    const posts = PARAGRAPHS.split('\n').map(
      (text, at) =>
        `<article class="message"><h4 itemprop="headline">Post ${at}</h4>${text}</article>`,
    )
    const first = `<article class="message">${PARAGRAPHS.repeat(4)}</article>`
    const html = `<body><div class="thread">${first}${posts.join('')}</div></body>`
    const { kind, text } = extract(html, 'https://forum.ferry.example/threads/harbour.17')
    expect(kind).to.equal('forum')
    for (let at = 0; at < posts.length; at++) expect(text).to.include(`Post ${at}`)
  })
})

describe('the Markdown of a thread', () => {
  const paragraphs = PARAGRAPHS.split('\n')
  const markdownOf = (post: (text: string) => string): string =>
    extract(
      `<body><main>${paragraphs.map(post).join('')}</main>`,
      'https://forum.ferry.example/threads/harbour.17',
    ).markdown

  for (const [what, card, extra] of [
    [
      'in cards of software',
      `<div class="user-details"><a href="/u/1"><img src="/1.png"></a><h4><a href="/u/1">Mara</a>
        </h4><div>Captain</div></div><dl class="userExtras"><dt>Joined</dt><dd>2019</dd></dl>
        <time datetime="2026-05-04">May 4, 2026</time>`,
      '<div class="signature">Ahoy</div><div class="reactionsBar">Jo and Kim</div>',
    ],
    [
      'as microdata, in a signature',
      `<div class="votecell"><div itemprop="upvoteCount">17</div></div>
        <div class="post-signature"><span title="2026-05-04 10:00:00Z">May 4, 2026</span>
        <div itemprop="author" itemscope><span class="rep">2,019</span>
        <span itemprop="name">Mara</span><span class="badge3">Captain</span></div></div>`,
      '<div itemprop="interactionStatistic">Ahoy</div>',
    ],
  ] as const) {
    it(`has who wrote each post and when, without ranks, votes and signatures: ${what}`, () => {
      const markdown = markdownOf(
        (text) => `<div class="post">${card}<div>${text}</div>${extra}</div>`,
      )
      expect(markdown.match(/Mara/g)).to.have.length(paragraphs.length)
      expect(markdown.match(/May 4, 2026/g)).to.have.length(paragraphs.length)
      expect(markdown).not.to.match(/Captain|2,?019|17|Ahoy|Jo and Kim/)
      for (const text of paragraphs) expect(markdown).to.include(text.slice(3, -4))
    })
  }

  it('has questions and answers without the comments on them', () => {
    const comment = '<div class="comment"><p>A ferry is no ship, and a ship no ferry.</p></div>'
    const posts = paragraphs.map(
      (text, at) => `<div itemprop="${at === 0 ? 'mainEntity' : 'suggestedAnswer'}" itemscope
        itemtype="https://schema.org/${at === 0 ? 'Question' : 'Answer'}">${text}${comment}</div>`,
    )
    const html = `<body><main itemscope itemtype="https://schema.org/QAPage">${posts.join('')}`
    const { kind, text } = extract(html, URL_OF_PAGE)
    expect(kind).to.equal('forum')
    expect(text).to.equal(TEXT)
  })

  it('has short posts of who started the thread, although their class says so', () => {
    const markdown = markdownOf((text) => `<div class="Item isOriginalPoster">${text}</div>`)
    for (const text of paragraphs) expect(markdown).to.include(text.slice(3, -4))
  })
})

describe('the kind of a page', () => {
  const kindAt = (url: string, html: string): string => extract(html, url).kind

  it('is told by its address, software and form', () => {
    const thread = 'https://forum.ferry.example/t/harbour/17'
    const wiki = page(PARAGRAPHS, '<meta name="generator" content="MediaWiki 1.43">')
    const rows = SHIPS.map((ship) => `<tr><td>${ship}</td><td>built in Bremen in 1984</td></tr>`)
    expect(kindAt(thread, page(PARAGRAPHS))).to.equal('forum')
    expect(kindAt(URL_OF_PAGE, wiki)).to.equal('wiki')
    expect(kindAt(URL_OF_PAGE, page(`<table>${rows.join('')}</table>`))).to.equal('table')
    expect(kindAt(URL_OF_PAGE, page(PARAGRAPHS))).to.equal('article')
  })
})

describe('the confidence in a text', () => {
  it('is high if a second reading agrees, and low if it finds another text', () => {
    expect(articleIn(page(PARAGRAPHS)).confidence).to.be.at.least(0.95)
    const other = `<div id="comments">${PARAGRAPHS.replaceAll('the', 'that').repeat(3)}</div>`
    expect(articleIn(page(`${PARAGRAPHS}${other}`)).confidence).to.be.below(0.8)
  })
})

describe('a page that a script has yet to fill', () => {
  const refused = (html: string): unknown => {
    try {
      return extract(html, URL_OF_PAGE, { beforeScripts: true }).text
    } catch (error) {
      return (error as ExtractionError).code
    }
  }
  const NAVIGATION = '<ul><li><a href="/a">Ferries and ships</a></li></ul><p>Loading, wait …</p>'

  for (const [what, html] of [
    ['is a template', '<p>Dear {{user.name}}, since $(csi.user.visit) you have been away.</p>'],
    ['shows its navigation', `<div id="root"></div>${NAVIGATION}`],
    ['asks for JavaScript', `<noscript>Enable JavaScript.</noscript>${NAVIGATION}`],
  ] as const) {
    it(`is empty if it ${what}, unless its scripts have run`, () => {
      expect(refused(`<body>${html}`)).to.equal('content_empty')
      expect(articleIn(`<body>${html}`).text).not.to.equal('')
    })
  }

  it('is not mistaken for one that has its text, or explains templates', () => {
    const noscript = '<noscript>Enable JavaScript to see the comments.</noscript>'
    expect(refused(page(`${PARAGRAPHS}${noscript}`))).to.equal(TEXT)
    const code = '<pre>Dear {{ user.name }}, you have {{ count }} new messages.</pre>'
    expect(refused(`<body><p>A template:</p>${code.repeat(3)}`)).to.include('{{ count }}')
  })
})
