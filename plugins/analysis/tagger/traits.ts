import type { Sentence } from '../text.ts'
import type { Token } from '../tokens.ts'
import type { Words } from '../words.ts'
import { hash, mix } from './hash.ts'
import { flagsOf } from './lists.ts'

/** Features of a word by itself. */
export interface WordTraits {
  readonly lower: number
  readonly surface: number
  /** Capitalization class, a small number. */
  readonly cap: number
  /** Hash of the spelling as runs of character classes: `McKay's` is `XxXx'x`. */
  readonly shape: number
  /** Clusters of the word, 0 if unknown. */
  readonly fine: number
  readonly middle: number
  readonly coarse: number
  /** Logarithm of its frequency rank. */
  readonly rank: number
  /** Bits of the lists that contain it. */
  readonly flags: number
  readonly affixes: readonly number[]
  readonly suffix: number
}

/** Traits outside a sentence. */
export const BOUNDARY: WordTraits = {
  lower: 1,
  surface: 1,
  cap: 0,
  shape: 1,
  fine: 0,
  middle: 0,
  coarse: 0,
  rank: 0,
  flags: 0,
  affixes: [],
  suffix: 1,
}

const CAPS: Readonly<Record<Token['shape'], number>> = {
  lower: 1,
  title: 2,
  upper: 3,
  number: 4,
  mark: 5,
}
/** Upper case with up to three letters, usually an abbreviation. */
const SHORT_UPPER = 6
const UNKNOWN_RANK = 20
const LONGEST_SPELLING = 24

const shapeOf = (text: string): string =>
  text
    .slice(0, LONGEST_SPELLING)
    .replace(/\p{Lu}+/gu, 'X')
    .replace(/\p{Ll}+/gu, 'x')
    .replace(/\p{N}+/gu, '0')

const affixesOf = (lower: string): number[] =>
  [1, 2, 3, 4].flatMap((size) =>
    lower.length > size
      ? [mix(size, hash(lower.slice(0, size))), mix(size + 8, hash(lower.slice(-size)))]
      : [],
  )

/** Computes the traits of a token. */
export const wordTraits = (
  { text, lower, shape }: Token,
  { index, clusters }: Words,
): WordTraits => {
  const row = index.get(lower)
  const leaf = row === undefined ? 0 : 1 + (clusters[row] ?? 0)
  const isWord = shape !== 'mark' && shape !== 'number'
  return {
    lower: hash(shape === 'number' ? lower.replace(/\p{N}/gu, '0') : lower),
    surface: hash(text),
    cap: shape === 'upper' && text.length < 4 ? SHORT_UPPER : CAPS[shape],
    shape: hash(shapeOf(text)),
    fine: leaf,
    middle: leaf === 0 ? 0 : 1 + ((leaf - 1) >> 3),
    coarse: leaf === 0 ? 0 : 1 + ((leaf - 1) >> 6),
    rank: row === undefined ? UNKNOWN_RANK : Math.floor(Math.log2(row + 1)),
    flags: flagsOf(lower),
    affixes: isWord ? affixesOf(lower) : [],
    suffix: hash(lower.slice(-3)),
  }
}

/** Spellings of words elsewhere in a document. */
export interface Cases {
  readonly small: ReadonlySet<string>
  /** Words with a capital that is not at the start of a sentence. */
  readonly capital: ReadonlySet<string>
}

/** Collects the spellings in a document. */
export const casesOf = (sentences: readonly Sentence[]): Cases => {
  const small = new Set<string>()
  const capital = new Set<string>()
  for (const { tokens } of sentences) {
    const isLoud = isMostlyCapitalized(tokens)
    for (const [at, { shape, lower }] of tokens.entries()) {
      if (shape === 'lower') small.add(lower)
      else if (shape === 'title' && !isLoud && tokens[at - 1]?.shape === 'lower') capital.add(lower)
    }
  }
  return { small, capital }
}

/** True if most words are capitalized, as in headlines; capitals then mean little. */
export const isMostlyCapitalized = (tokens: readonly Token[]): boolean => {
  let words = 0
  let capitals = 0
  for (const { shape, text } of tokens) {
    if (shape === 'mark' || shape === 'number' || text.length < 2) continue
    words += 1
    if (shape !== 'lower') capitals += 1
  }
  return words > 2 && capitals / words > 0.7
}
