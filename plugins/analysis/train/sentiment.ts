import { join } from 'node:path'
import { mentionsOf, strengthOf } from '../aspects.ts'
import { readWordSet as listed } from '../lexicon.ts'
import {
  DENSE_SIZE,
  oddsOf,
  POLARITY_BITS,
  type PolarityFeatures,
  type PolarityModel,
  polarityFeatures,
  polarityModel,
  serializePolarity,
} from '../polarity.ts'
import { overallOf, readSentences } from '../sentiment.ts'
import { sentencesOf } from '../text.ts'
import { opinionLexicon, opinionsOf } from '../valence.ts'
import { DIMENSIONS, UNIT, vectors, words } from '../words.ts'
import { curveOf, type JudgedAnswer } from './calibrate.ts'
import { LEARNABLE, readTexts } from './corpora.ts'
import { jsonBytes, type Output } from './output.ts'
import { randomFrom } from './random.ts'

/** A text with its sentiment label. */
export interface LabeledOpinion {
  readonly text: string
  readonly label: string
}

const EPOCHS = 25
const RATE = 0.15
/** Weight decay of dense and hashed features. */
const DECAY = { dense: 0.01, hashed: 0.03 } as const

/** Trains the polarity model on the permitted labeled sentences. */
export const trainSentiment = (data: string, output: Output): void => {
  const texts = LEARNABLE.moods.flatMap((file) => readTexts<LabeledOpinion>(join(data, file)))
  output.pack('data/sentiment.br', serializePolarity(trainPolarity(texts, suggestValence())))
  output.put('data/calibration-moods.json', jsonBytes(calibration(texts, data)))
}

const FOLDS = 5

/** Cross-validation folds: each fifth of the texts with a model trained on the others. */
export const foldsOf = <T extends LabeledOpinion>(
  texts: readonly T[],
): { readonly model: PolarityModel; readonly heldOut: readonly T[] }[] => {
  const valence = suggestValence()
  return Array.from({ length: FOLDS }, (_, fold) => ({
    model: trainPolarity(
      texts.filter((_, at) => at % FOLDS !== fold),
      valence,
    ),
    heldOut: texts.filter((_, at) => at % FOLDS === fold),
  }))
}

const CALIBRATED =
  'Share of right labels by strength: of praise and blame in five folds of what was learnt, of ' +
  'neutral on business news, of aspects in reviews. Written by train/main.ts.'

const calibration = (texts: readonly LabeledOpinion[], data: string): unknown => {
  const heldOut = foldsOf(texts).flatMap(({ model, heldOut }) =>
    heldOut.map((one) => judge(one, model)),
  )
  const news = readTexts<LabeledOpinion>(join(data, 'dev/sent_finphrase.jsonl'))
  const plain = news
    .map((one) => judge(one, polarityModel()))
    .filter(({ predicted }) => predicted === 'neutral')
  const curves = ['positive', 'negative'].map(
    (label) => [label, curveOf(heldOut.filter(({ predicted }) => predicted === label))] as const,
  )
  const neutral = curveOf(plain.map(({ isRight }) => ({ isRight, margin: 1 })))
  const aspect = curveOf(
    ASPECTS.flatMap((file) => readTexts<LabeledReview>(join(data, file)).flatMap(judgeAspects)),
  )
  return { about: CALIBRATED, curves: { ...Object.fromEntries(curves), neutral, aspect } }
}

/** Reviews with labeled aspects, used only for calibration. */
const ASPECTS = ['dev/absa_laptops_trainsample.jsonl', 'dev/absa_restaurants_trainsample.jsonl']
interface LabeledReview {
  readonly text: string
  readonly aspects: readonly (readonly [number, number, string])[]
}

const judgeAspects = ({ text, aspects }: LabeledReview): JudgedAnswer[] =>
  readSentences(sentencesOf(text))
    .flatMap((read) => mentionsOf(text, read))
    .flatMap(({ start, end, polarity: sum }) => {
      const gold = aspects.find(([from, to]) => from === start && to === end)
      const predicted = sum > 0 ? 'positive' : 'negative'
      return gold === undefined
        ? []
        : [{ margin: Math.abs(strengthOf(sum)), isRight: gold[2] === predicted }]
    })

const judge = (
  { text, label }: LabeledOpinion,
  model: PolarityModel,
): JudgedAnswer & { readonly predicted: string } => {
  const overall = overallOf(readSentences(sentencesOf(text), model))
  return {
    predicted: overall.label,
    margin: Math.abs(overall.score),
    isRight: overall.label === label,
  }
}

const EMPTY_MODEL = { dense: new Float64Array(DENSE_SIZE), hashed: new Float64Array(0), scale: 1 }

/** Logistic regression with AdaGrad over the features of whole texts. */
export const trainPolarity = (
  texts: readonly LabeledOpinion[],
  valence: Float64Array,
): PolarityModel => {
  const examples = texts.map(({ text, label }) => {
    const tokens = sentencesOf(text).flatMap((sentence) => sentence.tokens)
    const opinions = sentencesOf(text).flatMap(opinionsOf)
    const signs = polarityFeatures(tokens, opinions, { ...EMPTY_MODEL, valence })
    return { signs, isPraise: label === 'positive' ? 1 : 0 }
  })
  const model = {
    dense: new Float64Array(DENSE_SIZE),
    hashed: new Float64Array(1 << POLARITY_BITS),
    scale: 1,
    valence,
  }
  const steps = {
    dense: new Float64Array(DENSE_SIZE).fill(1),
    hashed: new Float64Array(1 << POLARITY_BITS).fill(1),
  }
  const random = randomFrom(5)
  for (let epoch = 0; epoch < EPOCHS; epoch += 1) {
    for (const at of random.order(examples.length)) {
      const example = examples[at]
      if (example === undefined) continue
      const { signs, isPraise } = example
      learn(model, steps, signs, 1 / (1 + Math.exp(-oddsOf(signs, model))) - isPraise)
    }
  }
  return model
}

type Weights = Pick<PolarityModel, 'dense'> & { readonly hashed: Float64Array }

const learn = (
  model: Weights,
  steps: Weights,
  { dense, hashes }: PolarityFeatures,
  error: number,
): void => {
  const move = (weights: Float64Array, sums: Float64Array, at: number, slope: number): void => {
    sums[at] = (sums[at] ?? 0) + slope * slope
    weights[at] = (weights[at] ?? 0) - (RATE * slope) / Math.sqrt(sums[at] ?? 1)
  }
  for (const [at, one] of dense.entries()) {
    move(model.dense, steps.dense, at, error * one + DECAY.dense * (model.dense[at] ?? 0))
  }
  for (const at of hashes) {
    move(model.hashed, steps.hashed, at, error + DECAY.hashed * (model.hashed[at] ?? 0))
  }
}

/** Frequent words outside the lexicon count as neutral, with a lower weight. */
const PLAIN_ROWS = 5_000
const PLAIN_WEIGHT = 0.3
const RIDGE = 3

/** Ridge regression from word vectors to lexicon valences. */
export const suggestValence = (): Float64Array => {
  const { index } = words()
  const { values, size } = vectors()
  const lexicon = opinionLexicon()
  const side = DIMENSIONS + 1
  const rows = Array.from({ length: side }, (_, at) => {
    const row = new Float64Array(side + 1)
    row[at] = RIDGE
    return row
  })
  const add = (word: number, valence: number, weight: number): void => {
    const from = word * DIMENSIONS
    const vector = Float64Array.from(values.subarray(from, from + DIMENSIONS), (one) => one / UNIT)
    const whole = [...vector, 1]
    for (const [i, left] of whole.entries()) {
      const row = rows[i] as Float64Array
      for (const [j, right] of whole.entries()) row[j] = (row[j] ?? 0) + weight * left * right
      row[side] = (row[side] ?? 0) + weight * left * valence
    }
  }
  const stops = listed('function-words.txt')
  for (const [word, row] of index) {
    const valence = lexicon.get(word)
    if (row < size && valence !== undefined && !stops.has(word)) add(row, valence, 1)
    else if (row < PLAIN_ROWS) add(row, 0, PLAIN_WEIGHT)
  }
  return solve(rows)
}

/** Gaussian elimination of a positive definite system; the last column is the right-hand side. */
const solve = (rows: Float64Array[]): Float64Array => {
  const side = rows.length
  for (const [at, pivot] of rows.entries()) {
    for (const row of rows.slice(at + 1)) {
      const share = (row[at] ?? 0) / (pivot[at] ?? 1)
      for (let j = at; j <= side; j += 1) row[j] = (row[j] ?? 0) - share * (pivot[j] ?? 0)
    }
  }
  const solution = new Float64Array(side)
  for (let at = side - 1; at >= 0; at -= 1) {
    const row = rows[at] as Float64Array
    let rest = row[side] ?? 0
    for (let j = at + 1; j < side; j += 1) rest -= (row[j] ?? 0) * (solution[j] ?? 0)
    solution[at] = rest / (row[at] ?? 1)
  }
  return solution
}
