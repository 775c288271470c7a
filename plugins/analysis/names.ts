import { confidenceAt } from './calibration.ts'
import { gazetteer, keyOf, LONGEST_NAME, type NameType } from './gazetteer.ts'
import { readWordSet as listed } from './lexicon.ts'
import { bestLabels, emissionsOf, marginalsOf, type Weights } from './tagger/decode.ts'
import { featuresOf } from './tagger/features.ts'
import { LABELS, runsOf } from './tagger/labels.ts'
import { isDemonym } from './tagger/lists.ts'
import { parseWeights } from './tagger/model.ts'
import { casesOf, type WordTraits } from './tagger/traits.ts'
import type { Sentence } from './text.ts'
import type { Span, Token } from './tokens.ts'
import { readCompressed, words } from './words.ts'

/** A name found in a text. */
export interface Name extends Span {
  readonly type: NameType
  /** Calibrated probability that span and type are correct. */
  readonly confidence: number
}

/** A name with the tagger's score, before calibration. */
export interface RawName extends Span {
  readonly type: NameType
  /** Smallest probability among the labels of its tokens, 0 to 1. */
  readonly margin: number
}

const DEMONYMS = listed('demonyms.txt')

let loadedWeights: Weights | undefined
const shippedWeights = (): Weights => (loadedWeights ??= parseWeights(readCompressed('names.br')))

/** Finds person, organization, location and product names, in order and without overlaps. */
export const findNames = (
  text: string,
  sentences: readonly Sentence[],
  tagger: Weights = shippedWeights(),
): Name[] => {
  const products = sentences.flatMap(({ tokens }) => productsIn(tokens))
  const taken = new Set(products.flatMap(({ start, end }) => [start, end]))
  const tagged = tagNames(text, sentences, tagger).filter(
    ({ start, end }) => !taken.has(start) && !taken.has(end),
  )
  return [...tagged, ...products]
    .map(({ margin, ...name }) => ({ ...name, confidence: confidenceAt(name.type, margin) }))
    .sort((a, b) => a.start - b.start)
}

/** Temperature for turning scores into probabilities, before calibration. */
const TEMPERATURE = 12
/** Sentences with fewer characters per token are not prose: tables of digits, ciphers, emoji. */
const PROSE_DENSITY_MIN = 2.6
const DENSE_TOKENS_MIN = 48

/** Finds names with a tagger model. */
export const tagNames = (
  text: string,
  sentences: readonly Sentence[],
  model: Weights,
): RawName[] => {
  const cases = casesOf(sentences)
  const traitCache = new Map<string, WordTraits>()
  return sentences.flatMap((sentence) => {
    const { tokens, start, end } = sentence
    const isDense =
      tokens.length > DENSE_TOKENS_MIN && (end - start) / tokens.length < PROSE_DENSITY_MIN
    if (isDense || !tokens.some(({ shape }) => shape !== 'mark' && shape !== 'number')) return []
    const emissions = emissionsOf(model, featuresOf(sentence, cases, words(), traitCache))
    const labels = bestLabels(emissions, model.transition)
    const runs = runsOf(labels)
    if (runs.length === 0) return []
    const marginals = marginalsOf(emissions, model.transition, TEMPERATURE)
    return runs.flatMap(({ from, to, type }): RawName[] => {
      const [first, last] = [tokens[from], tokens[to - 1]]
      if (type === 'other' || first === undefined || last === undefined) return []
      if (type !== 'person' && first === last && isPeople(first.lower)) return []
      let margin = 1
      for (let at = from; at < to; at += 1) {
        margin = Math.min(margin, marginals[at * LABELS + (labels[at] ?? 0)] ?? 0)
      }
      return [{ start: first.start, end: endOf(text, last), type, margin }]
    })
  })
}

/** True for demonyms such as `Turkish` or `Turks`, which the tagger may not know. */
const isPeople = (lower: string): boolean =>
  isDemonym(lower) || DEMONYMS.has(lower) || DEMONYMS.has(lower.replace(/s$/, ''))

/** End of a name, including the full stop of `Inc.`. */
const endOf = (text: string, last: Token): number =>
  /^(?:inc|corp|ltd|co|jr|sr)$/.test(last.lower) && text.charAt(last.end) === '.'
    ? last.end + 1
    : last.end

/** Words that name the version of a product, after its name or number. */
const VERSIONS = new Set(
  (
    'pro max ultra plus se mini air lite fe xl xr xs ti super edition long range fold flip watch ' +
    'buds series classic carbon paperwhite gen s x z'
  ).split(' '),
)
const MODELS_MAX = 5
/** Words after a number that counts something, as in `iPhone Pro 12 times`. */
const COUNTED =
  /^(?:%|percent|hundred|thousand|million|billion|times|units|days|weeks|months|years)$/

/** Number of tokens after a product that name its model: `15 Pro Max`, `S24 Ultra`, `Z Fold 5`. */
const modelSize = (tokens: readonly Token[], from: number): number => {
  let size = 0
  let isNumbered = false
  for (; size < MODELS_MAX; size += 1) {
    const token = tokens[from + size]
    const before = tokens[from + size - 1]
    if (token === undefined || before === undefined || token.start - before.end !== 1) break
    const mayNumber: boolean = !isNumbered || /^(?:gen|series)$/.test(before.lower)
    const isNumber: boolean = mayNumber && isModelNumber(tokens, from + size)
    const isVersion = VERSIONS.has(token.lower) && token.shape !== 'lower'
    if (!isNumber && !isVersion) break
    isNumbered ||= isNumber
  }
  return size
}

/** True for `15` and `S24`, but not for an amount such as `12.9` or `12 times`. */
const isModelNumber = (tokens: readonly Token[], at: number): boolean => {
  const [token, next, fraction] = tokens.slice(at, at + 3)
  if (token === undefined) return false
  if (/^[A-Z]{1,3}\d{1,4}[A-Za-z]{0,2}$/.test(token.text)) return true
  const isDecimal =
    next?.start === token.end && fraction?.start === next.end && fraction.shape === 'number'
  return token.shape === 'number' && !isDecimal && !COUNTED.test(next?.lower ?? '')
}

/** Finds known products with their models. */
export const productsIn = (tokens: readonly Token[]): RawName[] => {
  const found: RawName[] = []
  for (let at = 0; at < tokens.length; at += 1) {
    const size = productSize(tokens, at)
    const first = tokens[at]
    const last = tokens[at + size - 1]
    if (size === 0 || first === undefined || last === undefined) continue
    const more = modelSize(tokens, at + size)
    const end = tokens[at + size + more - 1]?.end ?? last.end
    found.push({ start: first.start, end, type: 'product', margin: 1 })
    at += size + more - 1
  }
  return found
}

const productSize = (tokens: readonly Token[], at: number): number => {
  const { shape } = tokens[at] ?? {}
  if (shape !== 'title' && shape !== 'upper') return 0
  for (let size = Math.min(LONGEST_NAME, tokens.length - at); size > 0; size -= 1) {
    if (gazetteer.get(keyOf(tokens.slice(at, at + size))) === 'product') return size
  }
  return 0
}
