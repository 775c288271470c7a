import { readWordSet as listed } from './lexicon.ts'
import { hash, mix } from './tagger/hash.ts'
import { stem } from './text.ts'
import type { Token } from './tokens.ts'
import { isInLexicon, isNegation, type Opinion, phrasesIn } from './valence.ts'
import { DIMENSIONS, readCompressed, UNIT, vectors, words } from './words.ts'

/** Features of a token range: dense measures and hashed words and word pairs. */
export interface PolarityFeatures {
  readonly dense: Float64Array
  readonly hashes: readonly number[]
}

/** Linear model of the log-odds of praise over blame. */
export interface PolarityModel {
  readonly dense: Float64Array
  readonly hashed: Float64Array | Int8Array
  /** Value of one unit of `hashed`. */
  readonly scale: number
  /** Regression weights from a word vector to a valence: one per dimension, and a constant. */
  readonly valence: Float64Array
}

/** Bits of the hashes of words and word pairs. */
export const POLARITY_BITS = 15
const MASK = (1 << POLARITY_BITS) - 1
const MEASURES = 15
/** Number of dense features: the measures, then the mean word vector. */
export const DENSE_SIZE = MEASURES + DIMENSIONS
const FUNCTION_WORDS = listed('function-words.txt')
/** Number of words that a negation affects. */
const NEGATION_REACH = 4
const NEGATION_FACTOR = -0.7
/** Suggested valences below this are ignored. */
const SUGGESTION_MIN = 0.3

/** Valence suggested by the vector of a word, about -4 to 4. */
const suggestedValence = (row: number, { valence }: PolarityModel): number => {
  const { values } = vectors()
  let sum = 0
  for (let at = 0; at < DIMENSIONS; at += 1) {
    sum += (valence[at] ?? 0) * (values[row * DIMENSIONS + at] ?? 0)
  }
  return sum / UNIT + (valence[DIMENSIONS] ?? 0)
}

/** Computes the features of a token range with its opinions. */
export const polarityFeatures = (
  tokens: readonly Token[],
  opinions: readonly Opinion[],
  model: PolarityModel,
): PolarityFeatures => {
  const { index } = words()
  const { values, size } = vectors()
  const hashes: number[] = []
  const dense = new Float64Array(DENSE_SIZE)
  let counted = 0
  let praise = 0
  let blame = 0
  let denials = 0
  let reach = 0
  let before = '<'
  for (const token of tokens) {
    const { lower, shape } = token
    if (shape === 'mark') {
      if (/^[.,;:!?]$/.test(lower)) reach = 0
      before = lower
      continue
    }
    const denies = isNegation(token)
    const turned = reach > 0 && !denies
    if (denies) denials += 1
    reach = denies ? NEGATION_REACH - 1 : Math.max(0, reach - 1)
    hashes.push(mix(turned ? 2 : 1, hash(stem(lower))) & MASK)
    hashes.push(mix(3, hash(lower, hash(' ', hash(before)))) & MASK)
    before = lower
    const row = FUNCTION_WORDS.has(lower) ? size : (index.get(lower) ?? size)
    if (row >= size) continue
    counted += 1
    const from = row * DIMENSIONS
    for (let at = 0; at < DIMENSIONS; at += 1) {
      dense[MEASURES + at] = (dense[MEASURES + at] ?? 0) + (values[from + at] ?? 0) / UNIT
    }
    if (isInLexicon(lower)) continue
    const valence = suggestedValence(row, model) * (turned ? NEGATION_FACTOR : 1)
    if (valence > SUGGESTION_MIN) praise += valence
    if (valence < -SUGGESTION_MIN) blame -= valence
  }
  dense.set(measuresOf(tokens, opinions, { praise, blame, denials }))
  const weight = counted > 0 ? 2 / Math.sqrt(counted) : 0
  for (let at = MEASURES; at < DENSE_SIZE; at += 1) dense[at] = (dense[at] ?? 0) * weight
  return { dense, hashes }
}

interface Counts {
  /** Valence that vectors suggest for words outside the lexicon. */
  readonly praise: number
  readonly blame: number
  readonly denials: number
}

const measuresOf = (
  tokens: readonly Token[],
  opinions: readonly Opinion[],
  { praise, blame, denials }: Counts,
): number[] => {
  const praised = opinions.reduce((sum, { valence }) => sum + Math.max(0, valence), 0)
  const blamed = opinions.reduce((sum, { valence }) => sum + Math.max(0, -valence), 0)
  const sum = praised - blamed
  const suggested = praise - blame
  const phrases = phrasesIn(tokens)
  const cries = tokens.filter(({ text }) => text === '!').length
  return [
    1,
    (1.5 * sum) / Math.sqrt(sum * sum + 15),
    praised / 4,
    blamed / 4,
    opinions.length === 0 ? 0.5 : 0,
    praise / 3,
    blame / 3,
    Math.min(cries, 3) / 3,
    phrases.filter(({ valence }) => valence > 0).length,
    phrases.filter(({ valence }) => valence < 0).length,
    (opinions.at(-1)?.valence ?? 0) / 4,
    Math.log(1 + praised) - Math.log(1 + blamed),
    Math.min(denials, 3),
    (opinions[0]?.valence ?? 0) / 4,
    suggested / Math.sqrt(suggested * suggested + 2),
  ]
}

/** Log-odds of praise over blame. */
export const oddsOf = ({ dense, hashes }: PolarityFeatures, model: PolarityModel): number => {
  let sum = 0
  for (const one of hashes) sum += model.hashed[one] ?? 0
  sum *= model.scale
  for (let at = 0; at < DENSE_SIZE; at += 1) sum += (dense[at] ?? 0) * (model.dense[at] ?? 0)
  return sum
}

const HASHED_SIZE = 1 << POLARITY_BITS

/** Parses a model: valence and dense weights, the scale, and one signed byte per hash. */
const parsePolarity = (bytes: Uint8Array<ArrayBuffer>): PolarityModel => {
  const head = new Float32Array(bytes.buffer, 0, DIMENSIONS + 1 + DENSE_SIZE + 1)
  return {
    valence: Float64Array.from(head.subarray(0, DIMENSIONS + 1)),
    dense: Float64Array.from(head.subarray(DIMENSIONS + 1, DIMENSIONS + 1 + DENSE_SIZE)),
    scale: head.at(-1) ?? 0,
    hashed: new Int8Array(bytes.buffer, head.byteLength, HASHED_SIZE),
  }
}

/** Serializes a model for `parsePolarity`. */
export const serializePolarity = (model: PolarityModel): Uint8Array<ArrayBuffer> => {
  const head = DIMENSIONS + 1 + DENSE_SIZE + 1
  const bytes = new Uint8Array(head * 4 + HASHED_SIZE)
  const hashed = Float64Array.from(model.hashed)
  const largest = hashed.reduce((most, one) => Math.max(most, Math.abs(one)), 1e-6)
  const scale = largest / 127
  new Float32Array(bytes.buffer, 0, head).set([...model.valence, ...model.dense, scale])
  new Int8Array(bytes.buffer, head * 4).set(hashed.map((one) => Math.round(one / scale)))
  return bytes
}

let loaded: PolarityModel | undefined
/** Shipped model, loaded once. */
export const polarityModel = (): PolarityModel =>
  (loaded ??= parsePolarity(readCompressed('sentiment.br')))
