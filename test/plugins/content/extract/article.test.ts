import { expect } from 'chai'
import { articleIn, PARAGRAPHS, page, TEXT } from './pages.ts'

describe('the extracted text of a page', () => {
  it('is the article only: no navigation, consent, share buttons, teasers or comments', () => {
    expect(articleIn(page(PARAGRAPHS)).text).to.equal(TEXT)
  })

  it('is found without naming hints, among links and forms', () => {
    const menu = '<div><a href="/a">One</a> <a href="/b">Two</a> <a href="/c">Three</a></div>'
    const html = `<body>${menu}<div><div>${PARAGRAPHS}</div></div><form>Search</form>${menu}`
    expect(articleIn(html).text).to.equal(TEXT)
  })

  it('omits captions, credits, dates, link lists and promotional lines', () => {
    const [first, ...others] = PARAGRAPHS.split('\n')
    const html = page(`
      <time datetime="2026-05-04">4 May 2026</time>
      ${first}
      <figure><img src="/pillar.jpg" alt="A pillar"><figcaption>A pillar. Photo: Jo</figcaption>
      </figure>
      <div class="wp-caption"><img src="/quay.jpg"><p class="wp-caption-text">The quay</p></div>
      <p><strong>Read more: <a href="/c">What the divers saw</a></strong></p>
      <h3>More on the harbour</h3>
      <ul><li><a href="/d">The plan of 1893</a></li><li><a href="/e">Oak in salt water</a></li></ul>
      ${others.join('')}
      <p>Advertisement</p><h3>Follow us</h3>`)
    expect(articleIn(html).text).to.equal(TEXT)
  })

  it('omits links that serve as buttons, and keeps text that begins alike', () => {
    const link = (label: string): string => `<div><a href="/next">${label}</a></div>`
    const buttons = [
      'Learn more',
      'Add to cart',
      'Get a free quote',
      'Try it for free',
      'Go to shop',
    ]
    const kept = [
      link(`Learn more about ${'the pillars of the old harbour, '.repeat(4)}and their repair`),
      '<div>Download of the plans is free, see the <a href="/plans">page</a> of the port.</div>',
    ]
    const { text } = articleIn(page(buttons.map(link).join('') + PARAGRAPHS + kept.join('')))
    for (const label of buttons) expect(text.split('\n')).not.to.include(label)
    expect(text).to.include('Learn more about the pillars').and.include('Download of the plans')
  })

  it('keeps sentences that only start like a promotional line', () => {
    const sentence = `Published in 1893 by the office of the port, the plan of the pillars shows
      that their builders knew of the worm.`
    expect(articleIn(page(`${PARAGRAPHS}<p>${sentence}</p>`)).text).to.include('Published in 1893')
    expect(articleIn(page(`${PARAGRAPHS}<p>Published 4 May 2026</p>`)).text).to.equal(TEXT)
  })

  it('keeps headings, lists, quotes, tables and code, in the order of the page', () => {
    const [first, second, ...others] = PARAGRAPHS.split('\n')
    const html = page(`${first}<h2>In short</h2>
      <ul><li>Closed from Monday</li><li>Open again in <b>September</b></li></ul>${second}
      <blockquote><p>Nobody looked.</p></blockquote>
      <table><tr><th>Line</th><th>Lands at</th></tr><tr><td>7</td><td>Fish market</td></tr></table>
      <pre><code class="language-sh">curl \\
  ferry.example</code></pre>${others.join('')}`)
    const { text } = articleIn(html)
    const parts = [
      'pillars',
      'In short',
      'Nobody looked.',
      'Fish market',
      'curl \\\n  ferry.example',
    ]
    expect(text).to.include('Closed from Monday\n').and.include('Open again in September')
    expect(text).to.include('7 Fish market')
    const order = [
      'from Monday, the',
      'In short',
      'Nobody looked.',
      'Fish market',
      'curl',
      'Repairs',
    ]
    expect(order.map((part) => text.indexOf(part))).to.satisfy((at: number[]) =>
      at.every((each, i) => each >= 0 && (i === 0 || each > at[i - 1]!)),
    )
    expect(parts.every((part) => text.includes(part))).to.equal(true)
  })

  it('is the first of several articles on an endless page', () => {
    const next = PARAGRAPHS.replaceAll('harbour', 'theatre')
    const html = `<body><h1>Harbour</h1><div itemprop="articleBody">${PARAGRAPHS}</div>
      <h1>Theatre</h1><div itemprop="articleBody">${next}</div>`
    expect(articleIn(html).text).to.equal(TEXT)
  })

  it('includes a first paragraph that is separate from the others', () => {
    const [first, ...others] = PARAGRAPHS.split('\n')
    const long = first!.replace('</p>', ` ${others[2]!.replace(/<.?p>/g, '')}</p>`)
    const html = page(`<div class="intro">${long}</div><div class="article-body">${others.join('')}
      </div>`)
    expect(articleIn(html).text).to.match(/^The harbour of the old town/)
  })

  it('comes from articleBody (schema.org) if the elements do not contain it', () => {
    const jsonLd = JSON.stringify({ '@type': 'NewsArticle', articleBody: TEXT })
    const html = page('<p>Loading</p>', `<script type="application/ld+json">${jsonLd}</script>`)
    expect(articleIn(html).text).to.equal(TEXT)
  })

  it('includes an article whose container has a misleading name', () => {
    const html = `<body><div class="page-with-sidebar related"><h1>Harbour</h1>${PARAGRAPHS}</div>`
    expect(articleIn(html).text).to.equal(TEXT)
  })

  it('omits what the provider excludes', () => {
    const html = page(`${PARAGRAPHS}<div class="premium"><p>The names of the divers are known.</p>
      </div>`)
    expect(articleIn(html).text).to.include('names of the divers')
    expect(articleIn(html, { exclude: ['.premium', '.absent'] }).text).to.equal(TEXT)
  })

  for (const [language, sentence] of Object.entries({
    'Arabic, from right to left':
      'أعلنت سلطة الميناء إغلاق المرفأ القديم أمام العبارات ابتداء من يوم الاثنين المقبل.',
    'Japanese, without spaces':
      '港湾当局は、旧市街の港を月曜日からフェリーに対して閉鎖すると発表した。修理には四か月かかる。',
    Russian:
      'Администрация порта сообщила, что старая гавань будет закрыта для паромов с понедельника.',
    Hindi: 'बंदरगाह प्राधिकरण ने कहा कि पुराने शहर का बंदरगाह सोमवार से नावों के लिए बंद रहेगा।',
  })) {
    it(`is found in ${language}`, () => {
      const html = `<body><ul><li><a href="/">1</a><li><a href="/2">2</a></ul>
        <div class="x"><p>${sentence}</p><p>${sentence}</p></div>
        <p><a href="/3">${sentence}</a></p>`
      const { text, word_count } = articleIn(html)
      expect(text).to.equal(`${sentence}\n\n${sentence}`)
      expect(word_count).to.be.within(20, 80)
    })
  }
})
