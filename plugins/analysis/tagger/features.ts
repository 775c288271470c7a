import type { Sentence } from '../text.ts'
import type { Words } from '../words.ts'
import { mix } from './hash.ts'
import { knownNameMarks } from './lists.ts'
import { BOUNDARY, type Cases, isMostlyCapitalized, type WordTraits, wordTraits } from './traits.ts'

/** Hashed features of a sentence; those of token i are at `offsets[i]` to `offsets[i + 1]`. */
export interface Features {
  readonly hashes: Int32Array
  readonly offsets: Int32Array
}

const FEATURES_MAX = 60
/** Template of all affixes, beyond those of `describe`. */
const AFFIX = 60

/** Traits of a word with those of its position. */
interface TokenTraits extends WordTraits {
  /** Mark of the known name that contains it. */
  readonly known: number
  /** 1 if no space precedes it. */
  readonly glued: number
  /** Bits: 1 if the document also has the word in lower case, 2 if with a capital. */
  readonly elsewhere: number
}

const OUTSIDE_SENTENCE: TokenTraits = { ...BOUNDARY, known: 0, glued: 0, elsewhere: 0 }

/** Computes the features of each token of a sentence. The templates are part of the model. */
export const featuresOf = (
  { tokens }: Sentence,
  cases: Cases,
  words: Words,
  traitCache: Map<string, WordTraits>,
): Features => {
  const known = knownNameMarks(tokens)
  const traits = tokens.map((token, at): TokenTraits => {
    let trait = traitCache.get(token.text)
    if (trait === undefined) {
      trait = wordTraits(token, words)
      traitCache.set(token.text, trait)
    }
    const { lower } = token
    const isCapital = trait.cap === 2 || trait.cap === 3
    return {
      ...trait,
      known: known[at] ?? 0,
      glued: at > 0 && tokens[at - 1]?.end === token.start ? 1 : 0,
      elsewhere: isCapital
        ? (cases.small.has(lower) ? 1 : 0) + (cases.capital.has(lower) ? 2 : 0)
        : 0,
    }
  })
  const isLoud = isMostlyCapitalized(tokens) ? 1 : 0
  const hashes = new Int32Array(tokens.length * FEATURES_MAX)
  const offsets = new Int32Array(tokens.length + 1)
  let size = 0
  for (let at = 0; at < tokens.length; at += 1) {
    size = describe(traits, at, isLoud, hashes, size)
    offsets[at + 1] = size
  }
  return { hashes: hashes.slice(0, size), offsets }
}

/** A token with its two preceding and two following tokens. */
interface Window {
  readonly token: TokenTraits
  readonly before: TokenTraits
  readonly earlier: TokenTraits
  readonly after: TokenTraits
  readonly later: TokenTraits
}
type Put = (value: number) => void

/** Writes the features of one token at `from`; returns the new size. */
const describe = (
  traits: readonly TokenTraits[],
  at: number,
  isLoud: number,
  hashes: Int32Array,
  from: number,
): number => {
  let size = from
  const put = (value: number): void => {
    hashes[size] = mix(size - from + 1, value)
    size += 1
  }
  const window = {
    token: traits[at] ?? OUTSIDE_SENTENCE,
    before: traits[at - 1] ?? OUTSIDE_SENTENCE,
    earlier: traits[at - 2] ?? OUTSIDE_SENTENCE,
    after: traits[at + 1] ?? OUTSIDE_SENTENCE,
    later: traits[at + 2] ?? OUTSIDE_SENTENCE,
  }
  putSpelling(window, at, isLoud, put)
  putKnowledge(window, put)
  for (const affix of window.token.affixes) {
    hashes[size] = mix(AFFIX, affix)
    size += 1
  }
  return size
}

const putSpelling = (
  { token, before, earlier, after, later }: Window,
  at: number,
  isLoud: number,
  put: Put,
): void => {
  const pair = (left: number, right: number): void => put(mix(left, right))
  const { cap } = token
  put(0)
  put(token.lower)
  put(token.surface)
  put(before.lower)
  put(after.lower)
  put(earlier.lower)
  put(later.lower)
  pair(before.lower, token.lower)
  pair(token.lower, after.lower)
  pair(before.lower, after.lower)
  put(token.shape)
  pair(token.shape, isLoud)
  pair(mix(before.shape, token.shape), after.shape)
  pair(before.cap * 8 + cap, after.cap)
  pair(mix(earlier.cap * 8 + before.cap, cap), after.cap * 8 + later.cap)
  pair(cap, at === 0 ? 1 : 0)
  pair(cap, before.lower)
  pair(cap, after.lower)
  pair(cap * 8 + before.cap, earlier.lower)
  pair(cap * 8 + after.cap, later.lower)
}

const putKnowledge = ({ token, before, earlier, after, later }: Window, put: Put): void => {
  const pair = (left: number, right: number): void => put(mix(left, right))
  const { cap } = token
  pair(token.fine, cap)
  pair(token.middle, cap)
  pair(token.coarse, cap)
  put(before.fine)
  put(after.fine)
  put(before.middle)
  put(after.middle)
  put(earlier.middle)
  put(later.middle)
  pair(before.middle, token.middle)
  pair(token.middle, after.middle)
  pair(mix(before.coarse, token.coarse), after.coarse)
  pair(mix(before.middle, after.middle), cap)
  pair(token.rank, cap)
  pair(token.elsewhere, cap)
  pair(token.flags, cap)
  pair(before.flags, cap)
  pair(after.flags, cap)
  pair(mix(before.flags, token.flags), after.flags)
  pair(token.known, cap)
  pair(mix(before.known, token.known), after.known)
  pair(token.glued, before.lower)
  pair(after.glued, after.lower)
  put(before.suffix)
  put(after.suffix)
}
