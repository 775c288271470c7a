import type { Sentence } from '../text.ts'
import type { Words } from '../words.ts'
import { mix } from './hash.ts'
import { knownIn } from './lists.ts'
import { type Cases, isShouted, NOTHING, type Trait, traitOf } from './traits.ts'

/** The features of a sentence: hashes, those of token i from `offsets[i]` to `offsets[i + 1]`. */
export interface Features {
  readonly hashes: Int32Array
  readonly offsets: Int32Array
}

const MOST_FEATURES = 60
/** The affixes share one template, beyond those of `describe`. */
const AFFIX = 60

/** A trait in its place. */
interface Placed extends Trait {
  /** Mark of the known name that it stands in. */
  readonly known: number
  /** 1 if it is written without a space after the token before. */
  readonly glued: number
  /** 1: the document also has it in small letters, 2: with a capital. */
  readonly elsewhere: number
}

const NOWHERE: Placed = { ...NOTHING, known: 0, glued: 0, elsewhere: 0 }

/** What the tagger weighs of each token of a sentence. The templates are part of the model. */
export const featuresOf = (
  { tokens }: Sentence,
  cases: Cases,
  words: Words,
  remember: Map<string, Trait>,
): Features => {
  const known = knownIn(tokens)
  const placed = tokens.map((token, at): Placed => {
    let trait = remember.get(token.text)
    if (trait === undefined) {
      trait = traitOf(token, words)
      remember.set(token.text, trait)
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
  const loud = isShouted(tokens) ? 1 : 0
  const hashes = new Int32Array(tokens.length * MOST_FEATURES)
  const offsets = new Int32Array(tokens.length + 1)
  let size = 0
  for (let at = 0; at < tokens.length; at += 1) {
    size = describe(placed, at, loud, hashes, size)
    offsets[at + 1] = size
  }
  return { hashes: hashes.slice(0, size), offsets }
}

/** A token with its neighbours: the one before, the one before that, the one after, the next. */
interface Window {
  readonly token: Placed
  readonly before: Placed
  readonly earlier: Placed
  readonly after: Placed
  readonly later: Placed
}
type Put = (value: number) => void

/** Writes the features of one token at `size`; returns the new size. */
const describe = (
  placed: readonly Placed[],
  at: number,
  loud: number,
  hashes: Int32Array,
  from: number,
): number => {
  let size = from
  const put = (value: number): void => {
    hashes[size] = mix(size - from + 1, value)
    size += 1
  }
  const window = {
    token: placed[at] ?? NOWHERE,
    before: placed[at - 1] ?? NOWHERE,
    earlier: placed[at - 2] ?? NOWHERE,
    after: placed[at + 1] ?? NOWHERE,
    later: placed[at + 2] ?? NOWHERE,
  }
  putSpelling(window, at, loud, put)
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
  loud: number,
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
  pair(token.shape, loud)
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
