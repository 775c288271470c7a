import { expect } from 'chai'
import { extract } from '../../../../plugins/content/extract/extract.ts'
import { articleIn, PARAGRAPHS, page, TEXT } from './pages.ts'
import { render } from './rendering.ts'

/** Markdown after the paragraphs that make a page an article. */
const markdown = (html: string): string =>
  articleIn(`<body><div>${PARAGRAPHS}<hr>${html}</div>`).markdown.split('\n\n---\n\n')[1]!

describe('Markdown', () => {
  it('keeps headings, emphasis, links and pictures', () => {
    expect(
      markdown(`<h2>Two</h2><p>A <strong>bold </strong><em>word</em>, a <a href="/x y(1)">link</a>,
        <del>old</del> and <code>a\`b</code>. <img src="/i.png" alt="[Pier]"></p>`),
    ).to.equal(
      '## Two\n\nA **bold** _word_, a [link](https://news.example/x%20y%281%29), ~~old~~ and ' +
        '``a`b``. ![\\[Pier\\]](https://news.example/i.png)',
    )
  })

  it('keeps nested lists and the start of ordered lists', () => {
    expect(
      markdown(
        '<ol start="3"><li>Three<ul><li>a</li><li>b</li></ul></li><li>Four</li></ol><p>x</p>',
      ),
    ).to.equal('3. Three\n   - a\n   - b\n4. Four\n\nx')
  })

  it('keeps data tables and unwraps layout tables', () => {
    expect(
      markdown(`<table><thead><tr><th>Line</th><th>To</th></tr></thead>
        <tr><td>7</td><td>a|b</td></tr><tr><td>8</td></tr></table><p>End.</p>`),
    ).to.equal('| Line | To |\n| --- | --- |\n| 7 | a\\|b |\n| 8 |  |\n\nEnd.')
    expect(markdown('<table><tr><td><h3>Left</h3><p>Text.</p></td></tr></table>')).to.equal(
      '### Left\n\nText.',
    )
  })

  it('keeps code unchanged, in a fence longer than any inside', () => {
    expect(
      markdown('<pre><code class="language-ts">if (a < b) {\n  `x` * _y_\n}</code></pre><p>x</p>'),
    ).to.equal('```ts\nif (a < b) {\n  `x` * _y_\n}\n```\n\nx')
    expect(markdown('<pre>```</pre><p>x</p>')).to.equal('````\n```\n````\n\nx')
  })

  it('keeps quotes and line breaks', () => {
    expect(markdown('<blockquote><p>One<br>two</p><p>three</p></blockquote><p>x</p>')).to.equal(
      '> One\\\n> two\n>\n> three\n\nx',
    )
  })

  it('escapes marks in words, so that it renders exactly the text of the page', () => {
    expect(
      markdown(
        '<p># no heading</p><p>1. no list</p><p>*no* _emphasis_ &lt;b&gt; [x](y) snake_case</p>',
      ),
    ).to.equal(
      '\\# no heading\n\n1\\. no list\n\n\\*no\\* \\_emphasis\\_ \\<b> \\[x\\](y) snake_case',
    )
  })

  it('has tables with spans, or with lists and code in cells, as HTML without blank lines', () => {
    expect(
      markdown(`<table><caption>Lines</caption><tr><th colspan="2">Line &amp; place</th></tr>
        <tr><td>7</td><td><ul><li><a href="/f">Fish</a></li></ul><pre>a\n\nb</pre></td></tr>
        </table><p>x</p>`),
    ).to.equal(
      'Lines\n\n<table>\n<tr><th colspan="2">Line &amp; place</th></tr>\n' +
        '<tr><td>7</td><td><ul><li>' +
        '<a href="https://news.example/f">Fish</a></li></ul><pre>a&#10;&#10;b</pre></td></tr>\n' +
        '</table>\n\nx',
    )
  })

  it('has the infobox of a wiki as a table', () => {
    const infobox = `<table class="infobox vcard"><tr><th colspan="2">Harbour</th></tr>
      <tr><th>Built</th><td>1893</td></tr></table>`
    expect(markdown(`${infobox}<p>x</p>`)).to.include('<tr><th>Built</th><td>1893</td></tr>')
  })

  it('keeps definitions with their terms, and the paragraphs of a list item apart', () => {
    expect(
      markdown(`<dl><dt>quay</dt><dd>A wall.<p>Of stone.</p></dd><div><dt><b>pier</b></dt>
        <dd>A bridge.</dd></div></dl><ul><li><p>One</p><p>Two</p></li></ul><p>x</p>`),
    ).to.equal(
      '- **quay**\n\n  A wall.\n\n  Of stone.\n- **pier**\n\n  A bridge.\n\n- One\n\n  Two\n\nx',
    )
  })

  for (const [generator, names] of Object.entries({
    Sphinx: 'admonition warning',
    Docusaurus: 'theme-admonition theme-admonition-warning alert alert--warning',
    GitHub: 'markdown-alert markdown-alert-warning',
    VitePress: 'warning custom-block',
  })) {
    it(`keeps the admonitions of ${generator} as alerts`, () => {
      const box = `<div class="${names}"><p class="title">Warning</p><p>Wet.</p></div><p>x</p>`
      expect(markdown(box)).to.equal('> [!WARNING]\n> Wet.\n\nx')
    })
  }

  it('has an admonition in an aside', () => {
    const box = '<aside class="starlight-aside starlight-aside--tip"><p>Take the bus.</p></aside>'
    expect(articleIn(page(box + PARAGRAPHS)).markdown).to.match(/^> \[!TIP\]\n> Take the bus\./)
  })

  it('has no anchors of headings, links to edit, nor numbers of lines', () => {
    expect(
      markdown(`<h2>One<a class="headerlink" href="#one">¶</a></h2><h3>Two
        <a href="#two" aria-label="Link">#</a> <span class="mw-editsection">[<a href="/e">edit</a>]
        </span></h3><table class="highlight"><tr><td class="gutter"><pre>1</pre></td>
        <td><pre>a = 1</pre></td></tr></table><p>x</p>`),
    ).to.equal('## One\n\n### Two\n\n```\na = 1\n```\n\nx')
  })

  it('has code whose lines are blocks', () => {
    const lines = ['if a:', '  b = 1'].map((line) => `<div class="line">${line}</div>`)
    const code = '```\nif a:\n  b = 1\n```'
    expect(markdown(`<pre><code>${lines.join('')}</code></pre><p>x</p>`)).to.equal(`${code}\n\nx`)
  })

  it('names the language of code by its container', () => {
    const named = (html: string): string => markdown(`${html}<p>x</p>`).split('\n')[0]!
    expect(
      named('<div class="highlight-python notranslate"><div><pre>a</pre></div></div>'),
    ).to.equal('```python')
    expect(named('<div class="highlight highlight-source-js"><pre>a</pre></div>')).to.equal('```js')
    expect(named('<div class="highlight-default"><pre>a</pre></div>')).to.equal('```')
    expect(named('<pre data-language="go"><code>a</code></pre>')).to.equal('```go')
  })
})

describe('what stands beside the text', () => {
  it('is in Markdown: captions, credits and sources', () => {
    const { text, markdown } = articleIn(
      page(`${PARAGRAPHS}<figure><img src="/i.png" alt="Pier">
        <figcaption>The pier</figcaption></figure>
        <p class="photo-credit">Jo Stern</p><p>Source: Port authority</p>`),
    )
    expect(text).to.equal(TEXT)
    expect(markdown.split('\n\n').slice(-4)).to.deep.equal([
      '![Pier](https://news.example/i.png)',
      'The pier',
      'Jo Stern',
      'Source: Port authority',
    ])
  })

  it('is in the Markdown of a thread: the author and time of each post, in order', () => {
    const posts = ['Mara', 'Jo'].map(
      (name, at) => `<article><div class="post-author">${name}</div><time>${at + 1} May 2026</time>
        <div class="body">${PARAGRAPHS}</div></article>`,
    )
    const html = `<body><h1>Pier</h1><div class="thread">${posts.join('')}</div></body>`
    const { text, markdown } = extract(html, 'https://forum.ferry.example/t/pier/17')
    expect(text).not.to.include('Mara')
    expect(markdown).to.match(/Mara\s+1 May 2026\s+The harbour[\s\S]+Jo\s+2 May 2026\s+The harbour/)
  })
})

describe('notation', () => {
  const TEX = 'x_1^2 + \\frac{a}{b}'
  const mathml = `<math><semantics><mi>x</mi><annotation encoding="application/x-tex">${TEX}
    </annotation></semantics></math>`

  for (const [source, html] of Object.entries({
    MathML: mathml,
    KaTeX: `<span class="katex"><span class="katex-mathml">${mathml}</span>
      <span class="katex-html" aria-hidden="true">x12+ba</span></span>`,
    MediaWiki: `<span class="mwe-math-element"><span style="display: none">
      <math alttext="{\\displaystyle ${TEX}}"><mi>x</mi></math></span><img src="/x.svg"></span>`,
    'MathJax 2': `<span class="MathJax">x12</span><script type="math/tex">${TEX}</script>`,
  })) {
    it(`has the TeX of formulas: ${source}`, () => {
      const { text, markdown } = articleIn(page(`${PARAGRAPHS}<p>Where ${html} is the load.</p>`))
      expect(text).to.include(`Where $${TEX}$ is the load.`)
      expect(markdown).to.include(`Where $${TEX}$ is the load.`)
    })
  }

  it('has the TeX of MathML that declares none, and displayed formulas', () => {
    const math = `<math display="block"><mfrac><mi>a</mi><mn>2</mn></mfrac></math>`
    expect(articleIn(page(`${PARAGRAPHS}${math}`)).text).to.include('$$\\frac{a}{2}$$')
  })

  it('escapes dollars that belong to no formula, on pages with formulas only', () => {
    const prices = `<p>It costs $5 and <b>$6</b>, or <a href="/x">$7</a>.</p>
      <table><tr><th rowspan="2">$8</th><td>MATH</td></tr><tr><td>$9</td></tr></table><p>x</p>`
    const sold = (math: string): string => markdown(prices.replace('MATH', math))
    const escaped = sold(`<math alttext="a<b"></math>`)
    expect(escaped).to.include('It costs \\$5 and **\\$6**, or [\\$7](https://news.example/x).')
    expect(escaped).to.include('<th rowspan="2">&#36;8</th><td>$a&lt;b$</td>')
    expect(escaped).to.include('<td>&#36;9</td>')
    const plain = sold('none')
    expect(plain).to.include('It costs $5 and **$6**, or [$7](https://news.example/x).')
    expect(plain).to.include('<td>$9</td>')
  })

  it('has the readings of ruby text in parentheses', () => {
    const ruby = '<ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>'
    expect(articleIn(page(`${PARAGRAPHS}<p>${ruby}は閉鎖された。</p>`)).text).to.include(
      '港(みなと)は閉鎖',
    )
  })
})

describe('Markdown that is rendered', () => {
  const parts = {
    code: '<pre><code class="language-py">def f(*a):\n\n    return `a`  # $x$</code></pre>',
    tables: '<table><tr><th>a|b</th><th>*c*</th></tr><tr><td>1</td><td>x_y_z</td></tr></table>',
    'tables in HTML': `<table><tr><th rowspan="2">a</th><td>b &lt; c</td></tr>
      <tr><td><ul><li>one</li><li>two</li></ul></td></tr></table>`,
    lists: `<ul><li>One<ol start="4"><li>four</li><li>five</li></ol></li><li><p>Two</p><p>three</p>
      <pre>code\n\n  more</pre></li></ul>`,
    math: '<p>Where <math alttext="a_1 \\le b_2"></math> holds, and costs $5/$6 [or] *more*.</p>',
    definitions: '<dl><dt>quay</dt><dd>A wall of stone.</dd></dl>',
  }
  for (const [what, html] of Object.entries(parts)) {
    it(`has the same words: ${what}`, () => {
      const first = articleIn(`<body><div>${PARAGRAPHS}${html}</div>`)
      const again = articleIn(`<body><div>${render(first.markdown)}</div>`)
      expect(again.text.replace(/\n+/g, '\n')).to.equal(first.text.replace(/\n+/g, '\n'))
      expect(again.markdown).to.equal(first.markdown)
    })
  }
})
