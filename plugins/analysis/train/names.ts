import { join } from 'node:path'
import { findAmounts } from '../amounts.ts'
import { findDates } from '../dates.ts'
import { productsIn, tagNames } from '../names.ts'
import type { Weights } from '../tagger/decode.ts'
import { parseWeights, serializeWeights } from '../tagger/model.ts'
import type { WordTraits } from '../tagger/traits.ts'
import { sentencesOf } from '../text.ts'
import type { Span } from '../tokens.ts'
import { words } from '../words.ts'
import { curveOf, type JudgedAnswer } from './calibrate.ts'
import {
  changeCase,
  type LabeledText,
  LEARNABLE,
  nameFiles,
  normalizeLabels,
  readTexts,
} from './corpora.ts'
import { fillers } from './lists.ts'
import { jsonBytes, type Output } from './output.ts'
import { randomFrom } from './random.ts'
import { type Example, examplesOf, Perceptron } from './tagger.ts'
import { templateTexts } from './templates.ts'

const TWIN = '../../test/bench/analysis/names-twin.br'
const BITS = 18
const EPOCHS = 3

const SEED = 7

const train = (examples: readonly Example[]): Weights => {
  const tagger = new Perceptron(BITS)
  const random = randomFrom(SEED)
  for (let epoch = 0; epoch < EPOCHS; epoch += 1) tagger.train(examples, random)
  return tagger.average()
}

const readAll = (files: readonly string[]): LabeledText[] =>
  files.flatMap((file) => readTexts<LabeledText>(file)).map(normalizeLabels)

/** Training examples: corpora, templates, and copies of some in another case. */
const examplesFrom = (texts: readonly LabeledText[]): Example[] => {
  const random = randomFrom(3)
  const all = [...texts, ...templateTexts(fillers())]
  const augmented = [...all, ...all.flatMap((text) => changeCase(text, random))]
  const traitCache = new Map<string, WordTraits>()
  return augmented.flatMap((text) => examplesOf(text, words(), traitCache))
}

/** Trains the engine's tagger on all permitted texts. */
export const trainNames = (data: string, output: Output): void => {
  const permitted = LEARNABLE.names.map((file) => join(data, file))
  const examples = examplesFrom(readAll([...nameFiles(join(data, 'train')), ...permitted]))
  output.pack('data/names.br', serializeWeights(train(examples)))
}

/** Trains a twin without development texts, with which the benchmark judges those texts. */
export const trainTwin = (data: string, output: Output): void => {
  const examples = examplesFrom(readAll(nameFiles(join(data, 'train'))))
  output.pack(TWIN, serializeWeights(train(examples)))
}

/** Measures the precision by margin on texts that the twin was not trained on. */
export const calibrate = (data: string, output: Output): void => {
  const twin = parseWeights(output.readPacked(TWIN))
  const heldOut = LEARNABLE.names.flatMap((file) => readTexts<LabeledText>(join(data, file)))
  output.put('data/calibration.json', jsonBytes(calibration(heldOut, twin, data)))
}

const CALIBRATED =
  'Precision by margin, or by rule, on development texts that the model had not seen. ' +
  'Written by train/main.ts.'

/** A located result. */
interface Answer extends Span {
  readonly kind: string
  /** Name of the type in the labels. */
  readonly type: string
  readonly margin: number
}

const calibration = (heldOut: readonly LabeledText[], twin: Weights, data: string): unknown => {
  const named = heldOut.flatMap(({ text, entities }) => {
    const sentences = sentencesOf(text)
    const products = sentences.flatMap(({ tokens }) => productsIn(tokens))
    const names = [...tagNames(text, sentences, twin), ...products]
    return judge(
      entities,
      names.map((one) => ({ ...one, kind: one.type })),
    )
  })
  const values = readTexts<LabeledText>(join(data, 'dev/ner_re3d_half.jsonl')).flatMap(
    ({ text, entities }) => judge(entities, valuesIn(text)),
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

const judge = (
  entities: LabeledText['entities'],
  answers: readonly Answer[],
): (JudgedAnswer & { kind: string })[] => {
  const gold = new Set(entities.map((entity) => entity.join(' ')))
  return answers.map(({ start, end, kind, type, margin }) => ({
    kind,
    margin,
    isRight: gold.has(`${start} ${end} ${type}`),
  }))
}
