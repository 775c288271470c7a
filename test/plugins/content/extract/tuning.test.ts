import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { extractorWith, functionIn, replace } from '../../../bench/extraction/extractor.ts'
import type { MatchesByKind } from '../../../bench/extraction/measure.ts'
import { matchOf } from '../../../bench/extraction/metric.ts'
import { beginPage } from '../../../bench/extraction/page-state.ts'
import { FOLDS } from '../../../bench/extraction/pages.ts'
import { isEffective } from '../../../bench/extraction/trace.ts'
import { judge } from '../../../bench/extraction/tuning.ts'
import { RULES, THRESHOLDS } from '../../../bench/extraction/variants.ts'
import { PARAGRAPHS, page, URL_OF_PAGE } from './pages.ts'

const GOOD = matchOf('a b c d', 'a b c d')
const BAD = matchOf('a b c d', 'x')
const kinds = { articles: FOLDS.map((fold) => ({ fold })) }
/** One page in each fold, of which those of the given folds are read well. */
const readIn = (...folds: number[]): MatchesByKind => ({
  articles: FOLDS.map((_, at) => (folds.includes(at) ? GOOD : BAD)),
})

describe('the cross-validation of extraction', () => {
  it('chooses what gains on four folds and judges it on the fifth', async () => {
    const measured = new Map([
      ['gains where it is judged', readIn(0, 4)],
      ['gains where it is tuned', readIn(0, 1)],
    ])
    const readings: unknown[] = []
    const { chosen, matches } = await judge(kinds, 'fold 4', readIn(0), measured, async (names) => {
      readings.push(names)
      return readIn()
    })
    expect(chosen).to.deep.equal(['gains where it is tuned'])
    expect(matches).to.deep.equal({ articles: [BAD] })
    expect(readings).to.deep.equal([])
  })

  it('takes several changes only if they gain more together', async () => {
    const measured = new Map([
      ['one', readIn(0, 1)],
      ['other', readIn(0, 2, 3)],
    ])
    const chosenIf = async (...together: number[]): Promise<readonly string[]> => {
      const judged = await judge(kinds, 'fold 4', readIn(0), measured, async () =>
        readIn(...together),
      )
      return judged.chosen
    }
    expect(await chosenIf(0, 1, 2, 3)).to.deep.equal(['other', 'one'])
    expect(await chosenIf(0, 1)).to.deep.equal(['other'])
  })

  it('takes one value of a threshold, the best', async () => {
    const measured = new Map([
      ['HALF = 0.3', readIn(0, 1)],
      ['HALF = 0.7', readIn(0, 2, 3)],
    ])
    const judged = await judge(kinds, 'fold 4', readIn(0), measured, async () => readIn(0, 1, 2, 3))
    expect(judged.chosen).to.deep.equal(['HALF = 0.7'])
  })

  it('replaces functions and constants that the extractor has', () => {
    const folder = new URL('../../../../plugins/content/extract/', import.meta.url)
    for (const variant of Object.values({ ...RULES, ...THRESHOLDS })) {
      const source = readFileSync(new URL(`${variant.module}.ts`, folder), 'utf8')
      expect(replace(source, variant)).to.include(`const ${variant.name}: any = `)
    }
  })

  it('traces all functions that read a constant', () => {
    const folder = new URL('../../../../plugins/content/extract/', import.meta.url)
    for (const { module, name, pure, helpers = [] } of Object.values(THRESHOLDS)) {
      const source = readFileSync(new URL(`${module}.ts`, folder), 'utf8')
      const uses = (text: string): number => text.split(new RegExp(`\\b${name}\\b`)).length - 1
      const traced = [...(pure ?? []), ...helpers].map((each) => uses(functionIn(source, each)))
      const sum = traced.reduce((all, each) => all + each, 1)
      expect(pure === undefined || sum === uses(source), name).to.equal(true)
    }
  })

  it('reads a page the same whether or not configurations share its steps', async () => {
    const related = `<div class="related"><p>The stadium of the town opened on Sunday.</p></div>`
    const streamed = '<div hidden id="S:1"><p>The bus to the market leaves at noon.</p></div>'
    const place = '<template id="B:1"></template>'
    const lines = '<p>Read more: <a href="/a">A</a></p><p>Photo: Mara</p>'
    const html = page(`${related}${PARAGRAPHS}${place}${lines}`) + streamed
    const shipped = await extractorWith([])
    const texts: string[] = []
    for (const rule of [
      'names of surroundings',
      'lines that lead elsewhere',
      'credits of pictures',
      'streamed parts',
    ]) {
      const { textOf } = await extractorWith([rule])
      beginPage('')
      const alone = textOf(html, URL_OF_PAGE)
      beginPage(html)
      const usual = shipped.textOf(html, URL_OF_PAGE)
      expect(textOf(html, URL_OF_PAGE)).to.equal(alone).and.not.to.equal(usual)
      texts.push(alone)
    }
    expect(isEffective('names of surroundings')).to.equal(true)
    expect(isEffective('dialogs')).to.equal(false)
    expect(new Set(texts)).to.have.property('size', texts.length)
    const ships = Array.from({ length: 30 }, (_, at) => `<li><a href="/${at}">Ship ${at}</a></li>`)
    const listing = `<body><main><h1>Ships</h1><ul>${ships.join('')}</ul></main>`
    const { textOf } = await extractorWith(['credits of pictures'])
    beginPage(listing)
    const usual = shipped.textOf(listing, URL_OF_PAGE)
    expect(textOf(listing, URL_OF_PAGE)).to.equal(usual).and.to.include('Ship 29')
  })
})
