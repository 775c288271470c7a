import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { gainOf } from '../../../bench/extraction/ablation.ts'
import { Checkpoint } from '../../../bench/extraction/checkpoint.ts'
import { Definitions } from '../../../bench/extraction/definitions.ts'
import { extractorWith } from '../../../bench/extraction/extractor.ts'
import { matchOf } from '../../../bench/extraction/metric.ts'
import { beginPage } from '../../../bench/extraction/page-state.ts'
import { endTrace, isEffective } from '../../../bench/extraction/trace.ts'
import { RULES } from '../../../bench/extraction/variants.ts'
import { PARAGRAPHS, page, URL_OF_PAGE } from './pages.ts'

const [first = ''] = PARAGRAPHS.split('\n')
const PARTS = `<div class="css-08ad ad2b-image"><img src="/i.png"><p>The pier</p></div>
  <h3><a href="#x" class="headerlink">¶</a>Read this next</h3><ul><li><a href="/a">A</a></li></ul>
  <p>[WATCH] <a href="/v">Divers</a></p><div hidden>${first}</div><time>May 4, 2026</time>
  <details class="disclosure"><summary>Costs</summary>${first}</details>
  <figure><img src="/i.png"><ul><li>Oak</li></ul></figure><p>Photo: Mara</p>
  <article><h3><a href="/b">Stadium</a></h3>${first}</article>
  <article><h3><a href="/c">Whale</a></h3>${first}</article><div role="tooltip">Oak</div>
  <div class="related"><blockquote>${first}</blockquote></div><p><a href="/x">Learn more</a></p>`
const DOCS = 'https://docs.example/harbour'
const PAGES: readonly (readonly [html: string, url: string])[] = [
  [page(PARTS + PARAGRAPHS), URL_OF_PAGE],
  [page(PARTS.repeat(2)), URL_OF_PAGE],
  [page(PARTS + PARAGRAPHS), DOCS],
  [page(PARTS + PARAGRAPHS), 'https://forum.example/t/harbour/17'],
]

describe('the ablation of extraction', () => {
  it('skips a rule only on pages that read the same without it', async () => {
    const shipped = await extractorWith([])
    const missed: string[] = []
    for (const rule of Object.keys(RULES)) {
      const without = await extractorWith([rule])
      for (const [html, url] of PAGES) {
        beginPage(html)
        const text = shipped.textOf(html, url)
        endTrace()
        if (isEffective(rule) || without.variants === undefined) continue
        beginPage('')
        if (without.textOf(html, url) !== text) missed.push(`${rule} on ${url}`)
      }
    }
    expect(missed).to.deep.equal([])
  })

  it('counts the lines that a program needs only for a definition', () => {
    const rules = `import { wordsOf as toWords } from './words.ts'

const PHRASES = /x/
/** Says more. */
export const isRule = (text: string): boolean =>
  toWords(text).some((word) => PHRASES.test(word) && isShort(word))

export const isShort = (text: string): boolean => text.length < 3
export const isOther = (text: string): boolean => isShort(text)`
    const words = `export function wordsOf(text: string): string[] {
  return text.split(' ')
}`
    const definitions = new Definitions({ rules, words })
    expect(definitions.linesOnlyFor({ module: 'rules', name: 'isRule' })).to.equal(1 + 3 + 3)
    expect(definitions.linesOnlyFor({ module: 'rules', name: 'isOther' })).to.equal(1)
  })

  it('states the gain as a mean over kinds, with its error and the pages that change', () => {
    const good = matchOf('a b c d', 'a b c d')
    const bad = matchOf('a b c d', 'x')
    const shipped = { articles: [good, good, good], forum: [good] }
    const gain = gainOf(shipped, { articles: [good, good, good], forum: [bad] })
    expect(gain).to.deep.equal({ pages: 1, byKind: [0, 1], mean: 0.5, error: 0 })
  })

  it('continues an interrupted run, and starts again if a configuration is another', () => {
    const directory = mkdtempSync(join(tmpdir(), 'checkpoint-'))
    try {
      const measured = { kind: 'forum', at: 3, matches: [matchOf('a', 'a')] }
      const checkpoint = new Checkpoint(directory, '/data', [['copies']])
      for (const at of [3, 4]) checkpoint.add({ ...measured, at })
      const [file = ''] = readdirSync(directory)
      truncateSync(join(directory, file), 70)
      const { pages } = new Checkpoint(directory, '/data', [['copies']])
      expect(pages).to.deep.equal([measured])
      expect(new Checkpoint(directory, '/data', [['notation']]).pages).to.deep.equal([])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
