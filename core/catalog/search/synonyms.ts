import { ABBREVIATIONS } from './vocabulary/abbreviations.ts'
import { EQUIVALENTS } from './vocabulary/equivalents.ts'
import { FOREIGN, NARROWER } from './vocabulary/leads.ts'
import { plainWords } from './words.ts'

/** Another way to say some words: all of its own have to be there. */
export interface Alternative {
  readonly words: readonly string[]
  /** How much of a match it is, of 1. */
  readonly weight: number
}

const WEIGHT = { abbreviation: 0.95, foreign: 0.95, equivalent: 0.7, narrower: 0.5 } as const

/** Singular and plural, and forms of a verb, are one. */
function rootOf(word: string): string {
  if (word.length > 5 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  const stem = word.length > 6 ? word.replace(/(ing|ed)$/, '') : word
  if (stem !== word) return stem.replace(/e$/, '')
  const singular = word.length > 3 && word !== 'news' ? word.replace(/(?<![sui])s$/, '') : word
  return singular.length > 4 ? singular.replace(/e$/, '') : singular
}

const keyOf = (words: readonly string[]): string => words.map(rootOf).join(' ')

const linesOf = (text: string): string[][][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split(',').map(plainWords))

const TABLE = tableOf()
const LONGEST = Math.max(...[...TABLE.keys()].map((key) => key.split(' ').length))

function tableOf(): ReadonlyMap<string, Alternative[]> {
  const table = new Map<string, Alternative[]>()
  const add = (from: readonly string[], to: readonly string[], weight: number) => {
    const key = keyOf(from)
    if (key === keyOf(to)) return
    const known = table.get(key) ?? []
    if (!known.some(({ words }) => keyOf(words) === keyOf(to))) known.push({ words: to, weight })
    table.set(key, known)
  }
  for (const [text, weight] of [
    [ABBREVIATIONS, WEIGHT.abbreviation],
    [EQUIVALENTS, WEIGHT.equivalent],
  ] as const) {
    for (const phrases of linesOf(text)) {
      for (const from of phrases) for (const to of phrases) add(from, to, weight)
    }
  }
  for (const [text, weight] of [
    [FOREIGN, WEIGHT.foreign],
    [NARROWER, WEIGHT.narrower],
  ] as const) {
    for (const [to, ...others] of linesOf(text)) {
      for (const from of others) {
        const further = table.get(keyOf(to!)) ?? []
        add(from, to!, weight)
        for (const other of further) add(from, other.words, weight * other.weight)
      }
    }
  }
  return table
}

/** The longest phrase from `at` on that has synonyms, and those; else one word and none. */
export function synonymsOf(
  words: readonly string[],
  at: number,
): { readonly length: number; readonly alternatives: readonly Alternative[] } {
  for (let length = Math.min(LONGEST, words.length - at); length > 0; length--) {
    const alternatives = TABLE.get(keyOf(words.slice(at, at + length)))
    if (alternatives)
      return { length, alternatives: [...alternatives, ...spelt(words[at]!, length)] }
  }
  return { length: 1, alternatives: spelt(words[at]!, 1) }
}

/** British for American spelling, and the other way round. */
function spelt(word: string, length: number): Alternative[] {
  if (length > 1 || word.length < 6) return []
  const other = /is(?=(e|es|ed|ing|er|ation)$)/.test(word)
    ? word.replace(/is(?=(e|es|ed|ing|er|ation)$)/, 'iz')
    : word.replace(/iz(?=(e|es|ed|ing|er|ation)$)/, 'is')
  return other === word ? [] : [{ words: [other], weight: 1 }]
}
