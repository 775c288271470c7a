import { join } from 'node:path'
import { mentionsOf, strengthOf } from '../aspects.ts'
import { words as listed } from '../lexicon.ts'
import {
  DENSE,
  oddsOf,
  POLARITY_BITS,
  type PolarityModel,
  polarity,
  polarityTo,
  type Signs,
  signsOf,
} from '../polarity.ts'
import { overallOf, readSentences } from '../sentiment.ts'
import { sentencesOf } from '../text.ts'
import { knownOpinions, opinionsOf } from '../valence.ts'
import { DIMENSIONS, UNIT, vectors, words } from '../words.ts'
import { curveOf, type Judged } from './calibrate.ts'
import { LEARNT, readTexts } from './corpora.ts'
import { jsonBytes, type Output } from './output.ts'
import { randomFrom } from './random.ts'

/** A text that praises or blames. */
export interface Opinionated {
  readonly text: string
  readonly label: string
}

const EPOCHS = 25
const RATE = 0.15
/** How fast weights are drawn back to zero: measures, and words. */
const DECAY = { dense: 0.01, hashed: 0.03 } as const

/** Trains the polarity of texts on the labelled sentences that may be learnt from. */
export const trainSentiment = (data: string, output: Output): void => {
  const texts = LEARNT.moods.flatMap((file) => readTexts<Opinionated>(join(data, file)))
  output.pack('data/sentiment.br', polarityTo(trainPolarity(texts, suggestValence())))
  output.put('data/calibration-moods.json', jsonBytes(calibration(texts, data)))
}

const FOLDS = 5

/** Each fifth of the texts, with a model that has learnt from the others. */
export const foldsOf = <T extends Opinionated>(
  texts: readonly T[],
): { readonly model: PolarityModel; readonly held: readonly T[] }[] => {
  const valence = suggestValence()
  return Array.from({ length: FOLDS }, (_, fold) => ({
    model: trainPolarity(
      texts.filter((_, at) => at % FOLDS !== fold),
      valence,
    ),
    held: texts.filter((_, at) => at % FOLDS === fold),
  }))
}

const CALIBRATED =
  'Share of right labels by strength: of praise and blame in five folds of what was learnt, of ' +
  'neutral on business news, of aspects in reviews. Written by train/main.ts.'

const calibration = (texts: readonly Opinionated[], data: string): unknown => {
  const held = foldsOf(texts).flatMap(({ model, held }) => held.map((one) => judge(one, model)))
  const news = readTexts<Opinionated>(join(data, 'dev/sent_finphrase.jsonl'))
  const plain = news.map((one) => judge(one, polarity())).filter(({ told }) => told === 'neutral')
  const curves = ['positive', 'negative'].map(
    (label) => [label, curveOf(held.filter(({ told }) => told === label))] as const,
  )
  const neutral = curveOf(plain.map(({ isRight }) => ({ isRight, margin: 1 })))
  const aspect = curveOf(
    ASPECTS.flatMap((file) => readTexts<Reviewed>(join(data, file)).flatMap(judgeAspects)),
  )
  return { about: CALIBRATED, curves: { ...Object.fromEntries(curves), neutral, aspect } }
}

/** Reviews whose aspects are labelled; nothing is trained on them. */
const ASPECTS = ['dev/absa_laptops_trainsample.jsonl', 'dev/absa_restaurants_trainsample.jsonl']
interface Reviewed {
  readonly text: string
  readonly aspects: readonly (readonly [number, number, string])[]
}

const judgeAspects = ({ text, aspects }: Reviewed): Judged[] =>
  readSentences(sentencesOf(text))
    .flatMap((read) => mentionsOf(text, read))
    .flatMap(({ start, end, polarity: sum }) => {
      const gold = aspects.find(([from, to]) => from === start && to === end)
      const told = sum > 0 ? 'positive' : 'negative'
      return gold === undefined
        ? []
        : [{ margin: Math.abs(strengthOf(sum)), isRight: gold[2] === told }]
    })

const judge = (
  { text, label }: Opinionated,
  model: PolarityModel,
): Judged & { readonly told: string } => {
  const overall = overallOf(readSentences(sentencesOf(text), model))
  return { told: overall.label, margin: Math.abs(overall.score), isRight: overall.label === label }
}

const BLANK = { dense: new Float64Array(DENSE), hashed: new Float64Array(0), scale: 1 }

/** Logistic regression by AdaGrad over the signs of whole texts. */
export const trainPolarity = (
  texts: readonly Opinionated[],
  valence: Float64Array,
): PolarityModel => {
  const examples = texts.map(({ text, label }) => {
    const tokens = sentencesOf(text).flatMap((sentence) => sentence.tokens)
    const opinions = sentencesOf(text).flatMap(opinionsOf)
    const signs = signsOf(tokens, opinions, { ...BLANK, valence })
    return { signs, isPraise: label === 'positive' ? 1 : 0 }
  })
  const model = {
    dense: new Float64Array(DENSE),
    hashed: new Float64Array(1 << POLARITY_BITS),
    scale: 1,
    valence,
  }
  const steps = {
    dense: new Float64Array(DENSE).fill(1),
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

const learn = (model: Weights, steps: Weights, { dense, hashes }: Signs, error: number): void => {
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

/** Frequent words that no lexicon has stand for no valence, but each counts less. */
const PLAIN = 5_000
const PLAIN_WEIGHT = 0.3
const RIDGE = 3

/** Ridge regression from the vector of a word to its valence in the lexicon. */
export const suggestValence = (): Float64Array => {
  const { index } = words()
  const { values, size } = vectors()
  const lexicon = knownOpinions()
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
    else if (row < PLAIN) add(row, 0, PLAIN_WEIGHT)
  }
  return solve(rows)
}

/** Gaussian elimination of a positive definite system; the last column is the right side. */
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
