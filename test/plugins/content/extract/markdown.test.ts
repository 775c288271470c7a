import { expect } from 'chai'
import { articleIn, PARAGRAPHS } from './pages.ts'

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
})
