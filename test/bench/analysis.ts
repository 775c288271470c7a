/**
 * How good the embedded engine is on the development texts, and how fast. Run it with
 * `node test/bench/analysis.ts`; `--write` renews `plugins/analysis/data/precision.json`, the
 * precision of each rule, from which the engine takes its confidences.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { findAmounts } from '../../plugins/analysis/amounts.ts'
import { mentionsOf } from '../../plugins/analysis/aspects.ts'
import { classify } from '../../plugins/analysis/classify.ts'
import { findDates } from '../../plugins/analysis/dates.ts'
import { embedded } from '../../plugins/analysis/embedded.ts'
import { ENTITY_TYPES } from '../../plugins/analysis/engine.ts'
import { findNames } from '../../plugins/analysis/names.ts'
import { overallOf, readSentences } from '../../plugins/analysis/sentiment.ts'
import { sentencesOf } from '../../plugins/analysis/text.ts'
import type { Report } from './main.ts'

const DATA = new URL('../../../shared/data/analysis/dev/', import.meta.url)
const PRECISION = new URL('../../plugins/analysis/data/precision.json', import.meta.url)
const FEWEST = 5

interface Labelled {
  readonly text: string
  readonly label: string
  readonly entities: readonly [number, number, string][]
  readonly aspects: readonly [number, number, string][]
}
interface Found {
  readonly start: number
  readonly end: number
  readonly type: string
  readonly rule: string
}
interface Count {
  right: number
  wrong: number
  gold: number
}

const read = (name: string): Labelled[] =>
  readFileSync(new URL(`${name}.jsonl`, DATA), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Labelled)

const percent = (share: number): number => Math.round(share * 1_000) / 10
const f1 = ({ right, wrong, gold }: Count): number => percent((2 * right) / (right + wrong + gold))

/** Precision of each rule, filled by every measurement of spans. */
const rules = new Map<string, Count>()

const tally = (counts: Map<string, Count>, key: string): Count => {
  const count = counts.get(key) ?? { right: 0, wrong: 0, gold: 0 }
  counts.set(key, count)
  return count
}

/** Exact spans and types against the gold ones; only `types` are looked at. */
const spans = (
  name: string,
  types: readonly string[],
  find: (text: string) => readonly Found[],
): Map<string, Count> => {
  const counts = new Map<string, Count>()
  for (const { text, entities } of read(name)) {
    const gold = new Set(entities.map((entity) => entity.join(' ')))
    for (const [, , type] of entities) {
      if (!types.includes(type)) continue
      tally(counts, type).gold += 1
      tally(counts, 'all').gold += 1
    }
    for (const { start, end, type, rule } of find(text)) {
      if (!types.includes(type)) continue
      const verdict = gold.has(`${start} ${end} ${type}`) ? 'right' : 'wrong'
      for (const count of [tally(counts, type), tally(counts, 'all'), tally(rules, rule)]) {
        count[verdict] += 1
      }
    }
  }
  return counts
}

const names = (text: string): Found[] => findNames(text, sentencesOf(text))
const values = (text: string): Found[] => [
  ...findDates(text).map((date) => ({ ...date, type: 'date' })),
  ...findAmounts(text).map((amount) => ({ ...amount, type: 'amount', rule: amount.subtype })),
]

const entityFigures = (): Record<string, number> => {
  const NAMED = ['person', 'organization', 'location']
  const figures: Record<string, number> = {}
  const put = (corpus: string, counts: ReadonlyMap<string, Count>): void => {
    for (const [type, count] of counts) figures[`f1 ${corpus} ${type}`] = f1(count)
  }
  put('conll', spans('ner_conll03_testa', NAMED, names))
  put('ewt', spans('ner_ewt_dev', NAMED, names))
  put('wnut', spans('ner_wnut17_dev', [...NAMED, 'product'], names))
  put('re3d', spans('ner_re3d_half', ['date', 'amount'], values))
  return figures
}

const scoreOf = (text: string) => overallOf(readSentences(sentencesOf(text)))

/** Two labels by the sign of the score; three by the label, mixed counting as neutral. */
const sentimentFigures = (): Record<string, number> => {
  const figures: Record<string, number> = {}
  const bins = new Map<string, Count>()
  for (const name of ['sent_sst2_dev', 'sent_uci_half']) {
    const texts = read(name).map(({ text, label }) => ({ label, told: scoreOf(text) }))
    const right = texts.filter(({ told, label }) => told.score > 0 === (label === 'positive'))
    figures[`accuracy ${name}`] = percent(right.length / texts.length)
    for (const { label, told } of texts) {
      if (told.label !== 'positive' && told.label !== 'negative') continue
      const bin = Math.min(4, Math.floor(Math.abs(told.score) * 5)) / 5
      tally(bins, bin.toFixed(1))[told.label === label ? 'right' : 'wrong'] += 1
    }
  }
  const news = read('sent_finphrase')
  const plain = news.map(({ text, label }) => ({ label, told: scoreOf(text).label }))
  const agree = plain.filter(({ label, told }) => label === (told === 'mixed' ? 'neutral' : told))
  figures['accuracy sent_finphrase (3)'] = percent(agree.length / plain.length)
  const neutral = plain.filter(({ told }) => told === 'neutral')
  figures['right when neutral'] = percent(
    neutral.filter(({ label }) => label === 'neutral').length / neutral.length,
  )
  for (const [bin, { right, wrong }] of [...bins].sort(([a], [b]) => Number(a) - Number(b))) {
    figures[`right when strength >= ${bin}`] = percent(right / (right + wrong))
  }
  return figures
}

const aspectFigures = (): Record<string, number> => {
  const figures: Record<string, number> = {}
  for (const name of ['absa_restaurants_trainsample', 'absa_laptops_trainsample']) {
    const count: Count = { right: 0, wrong: 0, gold: 0 }
    let agreed = 0
    for (const { text, aspects } of read(name)) {
      count.gold += aspects.length
      for (const one of readSentences(sentencesOf(text)).flatMap((s) => mentionsOf(text, s))) {
        const gold = aspects.find(([start, end]) => start === one.start && end === one.end)
        count[gold === undefined ? 'wrong' : 'right'] += 1
        if (gold?.[2] === (one.polarity > 0 ? 'positive' : 'negative')) agreed += 1
      }
    }
    figures[`f1 ${name}`] = f1(count)
    figures[`polarity ${name}`] = percent(agreed / count.right)
  }
  return figures
}

const classFigures = (): Record<string, number> => {
  const figures: Record<string, number> = {}
  for (const name of ['cls_agnews', 'cls_clinc_domain', 'cls_banking77']) {
    const texts = read(name)
    const categories = [...new Set(texts.map(({ label }) => label))]
      .sort()
      .map((one) => ({ name: one }))
    const right = [0, 0]
    let gap = 0
    for (const { text, label } of texts) {
      const scored = classify(sentencesOf(text), categories, { several: false, mood: 0 })
      const rank = scored.findIndex((one) => one.name === label)
      right[0] = (right[0] ?? 0) + (rank === 0 ? 1 : 0)
      right[1] = (right[1] ?? 0) + (rank < 3 ? 1 : 0)
      gap += (scored[0]?.confidence ?? 0) - (rank === 0 ? 1 : 0)
    }
    figures[`top-1 ${name}`] = percent((right[0] ?? 0) / texts.length)
    figures[`top-3 ${name}`] = percent((right[1] ?? 0) / texts.length)
    figures[`confidence - accuracy ${name}`] = percent(gap / texts.length)
  }
  return figures
}

const speedFigures = (): Record<string, number> => {
  const joined = read('ner_conll03_testa')
    .map(({ text }) => text)
    .join('\n\n')
  const types = new Set(ENTITY_TYPES)
  const language = { code: 'en', confidence: 1, supported: true }
  const figures: Record<string, number> = {}
  for (const size of [1_024, 51_200]) {
    const times = Array.from({ length: 40 }, (_, turn) => {
      const from = (turn * 7_919) % (joined.length - size)
      const document = { text: joined.slice(from, from + size), language }
      const began = performance.now()
      embedded.entities(document, { types })
      return performance.now() - began
    }).sort((a, b) => a - b)
    figures[`entities ${size / 1_024} KB p50 ms`] = Math.round((times[20] ?? 0) * 100) / 100
    figures[`entities ${size / 1_024} KB max ms`] = Math.round((times[39] ?? 0) * 100) / 100
  }
  return figures
}

/** Laplace-smoothed, so that a rule seen a few times claims neither certainty nor hopelessness. */
const precisions = (): Record<string, number> =>
  Object.fromEntries(
    [...rules]
      .filter(([, { right, wrong }]) => right + wrong >= FEWEST)
      .map(([rule, { right, wrong }]): [string, number] => [
        rule,
        Math.round(((right + 1) / (right + wrong + 2)) * 100) / 100,
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

/** Throws when the development texts are not there. */
export async function analysis(): Promise<Report> {
  const figures = {
    ...entityFigures(),
    ...sentimentFigures(),
    ...aspectFigures(),
    ...classFigures(),
    ...speedFigures(),
  }
  return { name: 'analysis', figures, targets: [] }
}

if (import.meta.main) {
  if (!existsSync(DATA))
    console.log('skipped: there are no development texts beside the repository')
  else {
    const { figures } = await analysis()
    for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(44)} ${value}`)
    for (const [name, value] of Object.entries(precisions())) {
      console.log(`precision of ${name.padEnd(31)} ${value}`)
    }
    if (process.argv.includes('--write')) {
      const about =
        'Precision of each rule on the development texts: test/bench/analysis.ts --write'
      writeFileSync(PRECISION, `${JSON.stringify({ about, rules: precisions() }, null, 2)}\n`)
    }
  }
}
