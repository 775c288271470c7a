import { tokenize } from './tokenize.ts'
import { ABBREVIATIONS } from './vocabulary/abbreviations.ts'
import { EQUIVALENTS } from './vocabulary/equivalents.ts'
import { NARROWER } from './vocabulary/one-way.ts'

/** Alternative phrase; a match must contain all of its words. */
export interface Alternative {
  readonly words: readonly string[]
  /** Value of a match, from 0 to 1. */
  readonly weight: number
  /** Applies only to a word that no document contains. */
  readonly ifAbsent?: true
}

const WEIGHTS = { abbreviation: 0.95, equivalent: 0.85, narrower: 0.7 } as const

/** Reduces singular and plural, and forms of a verb, to the same root. */
function wordRoot(word: string): string {
  if (word.length > 5 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  const stem = word.length > 6 ? word.replace(/(ing|ed)$/, '') : word
  if (stem !== word) return stem.replace(/e$/, '')
  const singular = word.length > 3 && word !== 'news' ? word.replace(/(?<![sui])s$/, '') : word
  return singular.length > 4 ? singular.replace(/e$/, '') : singular
}

/** Small words that do not change what a phrase means, between its first and last word. */
export const SMALL_WORDS = new Set(
  'a an the of to in into on at my your this that is are it'.split(' '),
)

/** Two phrases that differ only in small words inside and inflections have the same key. */
const phraseKey = (words: readonly string[]): string =>
  words
    .filter((word, i) => i === 0 || i === words.length - 1 || !SMALL_WORDS.has(word))
    .map(wordRoot)
    .join(' ')

const parseVocabulary = (text: string): string[][][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split(',').map(tokenize))

interface Synonyms {
  readonly table: ReadonlyMap<string, readonly Alternative[]>
  /** Maximum length of a phrase, with small words. */
  readonly phraseMax: number
}

let built: Synonyms | undefined
/** Synonyms of this process, built at the first use. */
const synonyms = (): Synonyms => (built ??= buildSynonyms())

function buildSynonyms(): Synonyms {
  const table = new Map<string, Alternative[]>()
  const add = (from: readonly string[], to: readonly string[], weight: number) => {
    const key = phraseKey(from)
    if (key === phraseKey(to)) return
    const known = table.get(key) ?? []
    if (!known.some(({ words }) => phraseKey(words) === phraseKey(to)))
      known.push({ words: to, weight })
    table.set(key, known)
  }
  for (const [text, weight] of [
    [ABBREVIATIONS, WEIGHTS.abbreviation],
    [EQUIVALENTS, WEIGHTS.equivalent],
  ] as const) {
    for (const phrases of parseVocabulary(text)) {
      for (const from of phrases) for (const to of phrases) add(from, to, weight)
    }
  }
  for (const [to, ...others] of parseVocabulary(NARROWER)) {
    for (const from of others) {
      const further = table.get(phraseKey(to!)) ?? []
      add(from, to!, WEIGHTS.narrower)
      for (const other of further) add(from, other.words, WEIGHTS.narrower * other.weight)
    }
  }
  return {
    table,
    phraseMax: 2 + Math.max(...[...table.keys()].map((key) => key.split(' ').length)),
  }
}

/** Finds the longest phrase at `at` that has synonyms; returns a single word if none has. */
export function findSynonyms(
  words: readonly string[],
  at: number,
): { readonly length: number; readonly alternatives: readonly Alternative[] } {
  const { table, phraseMax } = synonyms()
  for (let length = Math.min(phraseMax, words.length - at); length > 0; length--) {
    const alternatives = table.get(phraseKey(words.slice(at, at + length)))
    if (alternatives)
      return { length, alternatives: [...alternatives, ...otherSpelling(words[at]!, length)] }
  }
  return { length: 1, alternatives: otherSpelling(words[at]!, 1) }
}

/** Returns the British spelling of an American word, or the reverse. */
function otherSpelling(word: string, length: number): Alternative[] {
  if (length > 1 || word.length < 6) return []
  const other = /is(?=(e|es|ed|ing|er|ation)$)/.test(word)
    ? word.replace(/is(?=(e|es|ed|ing|er|ation)$)/, 'iz')
    : word.replace(/iz(?=(e|es|ed|ing|er|ation)$)/, 'is')
  return other === word ? [] : [{ words: [other], weight: 1 }]
}
