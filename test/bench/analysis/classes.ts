import { classify } from '../../../plugins/analysis/classify.ts'
import type { Category } from '../../../plugins/analysis/engine.ts'
import { sentencesOf } from '../../../plugins/analysis/text.ts'
import { type Row, SHIPPED } from './rows.ts'
import { accuracy, calibrationError } from './score.ts'
import type { Corpus, LabeledText } from './texts.ts'

/** Descriptions of the four sections of AG News, as a caller could write them. */
const SECTIONS: Readonly<Record<string, string>> = {
  World: 'Politics, war, elections, governments, diplomacy and disasters around the world',
  Sports:
    'Games, teams, players, coaches, championships and results in football, baseball, ' +
    'basketball and the Olympics',
  Business: 'Companies, profits, stocks, markets, oil prices, banks, jobs and the economy',
  'Sci/Tech': 'Computers, software, the internet, phones, space and scientific research',
}
const EXAMPLES = 10

/** Top-1 accuracy with label names, with descriptions, and with ten examples each. */
export const classRows = (corpora: readonly Corpus[]): Row[] =>
  corpora.flatMap(({ name, texts }) => {
    const labels = distinct(texts.map(({ label }) => label))
    if (labels.length < 2) return []
    const rows = [row(`${name} names`, texts, ({ label }) => label, named(labels))]
    if (labels.every((label) => label in SECTIONS)) {
      const described = labels.map((one) => ({ name: one, description: SECTIONS[one] ?? '' }))
      rows.push(row(`${name} descriptions`, texts, ({ label }) => label, described))
    }
    if (texts.every(({ intent }) => intent !== undefined)) {
      const intents = distinct(texts.map(({ intent = '' }) => intent))
      rows.push(row(`${name} intents`, texts, ({ intent = '' }) => intent, named(intents)))
    }
    // Even texts provide the examples, odd ones are classified.
    const shown = texts.filter((_, at) => at % 2 === 0)
    const categories = labels.map((label) => ({
      name: label,
      examples: shown
        .filter((one) => one.label === label)
        .slice(0, EXAMPLES)
        .map(({ text }) => text),
    }))
    const judged = texts.filter((_, at) => at % 2 === 1)
    return [...rows, row(`${name} examples`, judged, ({ label }) => label, categories)]
  })

const distinct = (labels: readonly string[]): string[] => [...new Set(labels)].sort()
const named = (labels: readonly string[]): Category[] => labels.map((name) => ({ name }))

const row = (
  name: string,
  texts: readonly LabeledText[],
  labelOf: (one: LabeledText) => string,
  categories: readonly Category[],
): Row => {
  const claims = texts.map((one) => {
    const [best] = classify(sentencesOf(one.text), categories, { several: false, mood: 0 })
    return { confidence: best?.confidence ?? 0, isRight: best?.name === labelOf(one) }
  })
  return {
    name,
    ours: accuracy(claims, ({ isRight }) => isRight),
    peers: {},
    texts: texts.length,
    error: calibrationError(claims),
    note: SHIPPED,
  }
}
