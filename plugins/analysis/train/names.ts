import { join } from 'node:path'
import { findAmounts } from '../amounts.ts'
import { findDates } from '../dates.ts'
import { productsIn, tagNames } from '../names.ts'
import type { Weights } from '../tagger/decode.ts'
import { weightsFrom, weightsTo } from '../tagger/model.ts'
import type { Trait } from '../tagger/traits.ts'
import { sentencesOf } from '../text.ts'
import type { Span } from '../tokens.ts'
import { words } from '../words.ts'
import { curveOf, type Judged } from './calibrate.ts'
import { conventional, type Labelled, LEARNT, nameFiles, readTexts, recased } from './corpora.ts'
import { fillers } from './lists.ts'
import { jsonBytes, type Output } from './output.ts'
import { randomFrom } from './random.ts'
import { type Example, examplesOf, Perceptron } from './tagger.ts'
import { templateTexts } from './templates.ts'

const TWIN = '../../test/bench/analysis/names-twin.br'
const BITS = 18
const EPOCHS = 3

const SEED = 7

const trained = (examples: readonly Example[]): Weights => {
  const tagger = new Perceptron(BITS)
  const random = randomFrom(SEED)
  for (let epoch = 0; epoch < EPOCHS; epoch += 1) tagger.read(examples, random)
  return tagger.mean()
}

const readAll = (files: readonly string[]): Labelled[] =>
  files.flatMap((file) => readTexts<Labelled>(file)).map(conventional)

/** The examples of the open corpora, of the templates, and of some of both in another case. */
const examplesFrom = (texts: readonly Labelled[]): Example[] => {
  const random = randomFrom(3)
  const all = [...texts, ...templateTexts(fillers())]
  const shown = [...all, ...all.flatMap((text) => recased(text, random))]
  const remember = new Map<string, Trait>()
  return shown.flatMap((text) => examplesOf(text, words(), remember))
}

/** The tagger of the engine: it has read all that it may learn from. */
export const trainNames = (data: string, output: Output): void => {
  const learnt = LEARNT.names.map((file) => join(data, file))
  const examples = examplesFrom(readAll([...nameFiles(join(data, 'train')), ...learnt]))
  output.pack('data/names.br', weightsTo(trained(examples)))
}

/**
 * Its twin, which has read no development text: the benchmark judges those texts by it.
 */
export const trainTwin = (data: string, output: Output): void => {
  const examples = examplesFrom(readAll(nameFiles(join(data, 'train'))))
  output.pack(TWIN, weightsTo(trained(examples)))
}

/** Measures on what the twin has not read how often what is said with some margin is right. */
export const calibrate = (data: string, output: Output): void => {
  const twin = weightsFrom(output.packed(TWIN))
  const held = LEARNT.names.flatMap((file) => readTexts<Labelled>(join(data, file)))
  output.put('data/calibration.json', jsonBytes(calibration(held, twin, data)))
}

const CALIBRATED =
  'Precision by margin, or by rule, on development texts that the model had not seen. ' +
  'Written by train/main.ts.'

/** One answer of a kind, with its place. */
interface Answer extends Span {
  readonly kind: string
  /** What the labels call it. */
  readonly type: string
  readonly margin: number
}

const calibration = (held: readonly Labelled[], twin: Weights, data: string): unknown => {
  const named = held.flatMap(({ text, entities }) => {
    const sentences = sentencesOf(text)
    const products = sentences.flatMap(({ tokens }) => productsIn(tokens))
    const names = [...tagNames(text, sentences, twin), ...products]
    return judged(
      entities,
      names.map((one) => ({ ...one, kind: one.type })),
    )
  })
  const values = readTexts<Labelled>(join(data, 'dev/ner_re3d_half.jsonl')).flatMap(
    ({ text, entities }) => judged(entities, valuesIn(text)),
  )
  const all = [...named, ...values]
  const kinds = [...new Set(all.map(({ kind }) => kind))].sort()
  const curves = kinds.map((kind) => [kind, curveOf(all.filter((one) => one.kind === kind))])
  return { about: CALIBRATED, curves: Object.fromEntries(curves) }
}

const valuesIn = (text: string): Answer[] => [
  ...findDates(text).map((date) => ({ ...date, kind: date.rule, type: 'date', margin: 1 })),
  ...findAmounts(text).map((one) => ({ ...one, kind: one.subtype, type: 'amount', margin: 1 })),
]

const judged = (
  entities: Labelled['entities'],
  answers: readonly Answer[],
): (Judged & { kind: string })[] => {
  const gold = new Set(entities.map((entity) => entity.join(' ')))
  return answers.map(({ start, end, kind, type, margin }) => ({
    kind,
    margin,
    isRight: gold.has(`${start} ${end} ${type}`),
  }))
}
