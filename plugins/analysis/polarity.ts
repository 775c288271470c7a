import { words as listed } from './lexicon.ts'
import { hash, mix } from './tagger/hash.ts'
import { stem } from './text.ts'
import type { Token } from './tokens.ts'
import { isKnownOpinion, isNegation, type Opinion, phrasesIn } from './valence.ts'
import { DIMENSIONS, UNIT, unpacked, vectors, words } from './words.ts'

/** What a stretch of text shows of its mood: a few measures, and its words and pairs of words. */
export interface Signs {
  readonly dense: Float64Array
  readonly hashes: readonly number[]
}

/** A linear model of log-odds of praise against blame. */
export interface PolarityModel {
  readonly dense: Float64Array
  readonly hashed: Float64Array | Int8Array
  /** What one unit of `hashed` stands for. */
  readonly scale: number
  /** The valence that a word's vector suggests: a weight for each dimension, and a constant. */
  readonly valence: Float64Array
}

/** How many different words and pairs the model can tell apart. */
export const POLARITY_BITS = 15
const MASK = (1 << POLARITY_BITS) - 1
const MEASURES = 15
/** Measures, then the mean of the vectors of the words. */
export const DENSE = MEASURES + DIMENSIONS
const FUNCTION_WORDS = listed('function-words.txt')
/** A negation turns this many words after it. */
const REACH = 4
const TURNED = -0.7
/** Vectors that suggest less than this suggest nothing. */
const FAINT = 0.3

/** The valence that the vector of a word suggests, about -4 to 4; 0 for an unknown word. */
const suggestedBy = (row: number, { valence }: PolarityModel): number => {
  const { values } = vectors()
  let sum = 0
  for (let at = 0; at < DIMENSIONS; at += 1) {
    sum += (valence[at] ?? 0) * (values[row * DIMENSIONS + at] ?? 0)
  }
  return sum / UNIT + (valence[DIMENSIONS] ?? 0)
}

/** Reads the signs of a stretch of tokens with the opinions in it. */
export const signsOf = (
  tokens: readonly Token[],
  opinions: readonly Opinion[],
  model: PolarityModel,
): Signs => {
  const { index } = words()
  const { values, size } = vectors()
  const hashes: number[] = []
  const dense = new Float64Array(DENSE)
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
    reach = denies ? REACH - 1 : Math.max(0, reach - 1)
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
    if (isKnownOpinion(lower)) continue
    const valence = suggestedBy(row, model) * (turned ? TURNED : 1)
    if (valence > FAINT) praise += valence
    if (valence < -FAINT) blame -= valence
  }
  dense.set(measuresOf(tokens, opinions, { praise, blame, denials }))
  const weight = counted > 0 ? 2 / Math.sqrt(counted) : 0
  for (let at = MEASURES; at < DENSE; at += 1) dense[at] = (dense[at] ?? 0) * weight
  return { dense, hashes }
}

interface Counts {
  /** What vectors suggest of words that no lexicon has. */
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

/** The log-odds of praise against blame. */
export const oddsOf = ({ dense, hashes }: Signs, model: PolarityModel): number => {
  let sum = 0
  for (const one of hashes) sum += model.hashed[one] ?? 0
  sum *= model.scale
  for (let at = 0; at < DENSE; at += 1) sum += (dense[at] ?? 0) * (model.dense[at] ?? 0)
  return sum
}

const HASHED = 1 << POLARITY_BITS

/** Bytes of a model: valence and dense weights, the scale, and one signed byte a hash. */
const polarityFrom = (bytes: Uint8Array<ArrayBuffer>): PolarityModel => {
  const head = new Float32Array(bytes.buffer, 0, DIMENSIONS + 1 + DENSE + 1)
  return {
    valence: Float64Array.from(head.subarray(0, DIMENSIONS + 1)),
    dense: Float64Array.from(head.subarray(DIMENSIONS + 1, DIMENSIONS + 1 + DENSE)),
    scale: head.at(-1) ?? 0,
    hashed: new Int8Array(bytes.buffer, head.byteLength, HASHED),
  }
}

/** The bytes that `polarityFrom` reads. */
export const polarityTo = (model: PolarityModel): Uint8Array<ArrayBuffer> => {
  const head = DIMENSIONS + 1 + DENSE + 1
  const bytes = new Uint8Array(head * 4 + HASHED)
  const hashed = Float64Array.from(model.hashed)
  const largest = hashed.reduce((most, one) => Math.max(most, Math.abs(one)), 1e-6)
  const scale = largest / 127
  new Float32Array(bytes.buffer, 0, head).set([...model.valence, ...model.dense, scale])
  new Int8Array(bytes.buffer, head * 4).set(hashed.map((one) => Math.round(one / scale)))
  return bytes
}

let loaded: PolarityModel | undefined
/** The model of the engine, read once. */
export const polarity = (): PolarityModel => (loaded ??= polarityFrom(unpacked('sentiment.br')))
