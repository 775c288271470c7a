import type { Micros } from '../../money.ts'
import { wordVectors } from './meaning/word-vectors.ts'
import { joinVerbs } from './phrase-order.ts'
import { readPricePhrase } from './price-phrase.ts'
import { withoutRequestPhrase } from './request-phrase.ts'
import { type Alternative, findSynonyms, SMALL_WORDS } from './synonyms.ts'
import { translateQuery } from './translate-query.ts'

/** Adjacent words of a query that form one phrase. */
export interface QuerySpan {
  readonly words: readonly string[]
  /** Words as written in the query, if they were translated. */
  readonly asked?: string
  /** Low for words that many queries contain. */
  readonly weight: number
  readonly alternatives: readonly Alternative[]
}

/** Preference expressed by a word of the query. */
export type Wish = 'cheap' | 'fast' | 'reliable'

export interface Query {
  readonly text: string
  readonly spans: readonly QuerySpan[]
  readonly wishes: ReadonlySet<Wish>
  /** Microdollars, from a phrase such as "under $0.01". */
  readonly maxPrice: Micros | undefined
}

const WORDS_MAX = 32
/** Words that many queries contain and that fit nearly every document, or say when and where. */
const FILLERS = new Set(
  (
    'api apis service services endpoint endpoints tool tools app agent need want wants looking ' +
    'find give get please help using use based simple best good great provider platform ' +
    'solution data ' +
    'online via info information ' +
    'make made turn let know tell like ' +
    'show see search check lookup whether somebody someone something ' +
    'today tomorrow yesterday tonight now current currently latest recent next last ' +
    'near nearby around here me given new long large'
  ).split(' '),
)
const FILLER_WEIGHT = 0.25
/** A foreign word in no vocabulary: often one that says little. */
const UNTRANSLATED_WEIGHT = 0.5

const WISH_WORDS: Readonly<Record<string, Wish>> = {
  cheap: 'cheap',
  cheaper: 'cheap',
  cheapest: 'cheap',
  affordable: 'cheap',
  inexpensive: 'cheap',
  fast: 'fast',
  faster: 'fast',
  fastest: 'fast',
  reliable: 'reliable',
  stable: 'reliable',
}

/** Parses a query into words with their alternatives, wishes and a maximum price. */
export function readQuery(text: string): Query {
  const { text: rest, maxPrice } = readPricePhrase(text)
  const all = queryWords(rest).slice(0, WORDS_MAX)
  const topics = all.filter(({ word }) => !Object.hasOwn(WISH_WORDS, word))
  const words = topics.length > 0 ? topics : all
  const wishes = new Set(
    all.flatMap(({ word }) => (Object.hasOwn(WISH_WORDS, word) ? WISH_WORDS[word]! : [])),
  )
  return {
    text,
    spans: splitIntoSpans(words),
    wishes,
    maxPrice,
  }
}

/** Word of a query in English. */
interface QueryWord {
  readonly word: string
  /** Words it was translated from, at the first word of a translation. */
  readonly original?: string | undefined
  /** Meaning in another language. */
  readonly meaning?: readonly string[] | undefined
  /** Low for a word that may mean nothing in particular. */
  readonly weight: number
}

/** Returns the words of a query in English, without the phrase that begins the request. */
function queryWords(text: string): QueryWord[] {
  const words = translateQuery(text).flatMap(({ words: all, original, meaning, isUntranslated }) =>
    all.map((word, i): QueryWord => {
      const weight = isUntranslated ? UNTRANSLATED_WEIGHT : FILLERS.has(word) ? FILLER_WEIGHT : 1
      return { word, original: i === 0 ? original : undefined, meaning, weight }
    }),
  )
  const kept = withoutRequestPhrase(words.map(({ word }) => word))
  return joinVerbs(words.slice(words.length - kept.length))
}

/** Splits words into spans from left to right, preferring the longest phrase with synonyms. */
function splitIntoSpans(all: readonly QueryWord[]): QuerySpan[] {
  const spans: QuerySpan[] = []
  const words = all.map(({ word }) => word)
  for (let at = 0; at < words.length; ) {
    const { length, alternatives } = findSynonyms(words, at)
    const phrase = words.slice(at, at + length)
    const weight = Math.max(...all.slice(at, at + length).map((each) => each.weight))
    const originals = all.slice(at, at + length).flatMap(({ original }) => original ?? [])
    const meanings = all.slice(at, at + length).flatMap(({ meaning }) => (meaning ? [meaning] : []))
    spans.push({
      words: phrase,
      ...(originals.length > 0 ? { asked: originals.join(' ') } : {}),
      weight,
      alternatives: [
        ...alternatives,
        ...(originals.length > 0 ? [{ words: originals.join(' ').split(' '), weight: 1 }] : []),
        ...meanings.map((meaning) => ({ words: meaning, weight: MEANING_WEIGHT })),
        ...joinedWords(words, at, length),
        ...(length === 1 ? [...splitWord(words[at]!), ...swapLetters(words[at]!)] : []),
      ],
    })
    at += length
  }
  return spans
}

/** Weight of a word's meaning in another language. */
const MEANING_WEIGHT = 0.9

/** Splits a word that may be written as two, or as two with `to` between: `qrcode`, `csvtojson`. */
function splitWord(word: string): Alternative[] {
  if (word.length < SPLIT.lengthMin || word.length > SPLIT.lengthMax) return []
  const ends = Array.from({ length: word.length - 2 * SPLIT.partMin + 1 }, (_, i) => i)
  return ends
    .map((i) => [word.slice(0, i + SPLIT.partMin), word.slice(i + SPLIT.partMin)] as const)
    .flatMap(([left, right]) => {
      const target = right.startsWith('to') ? right.slice(2) : ''
      const halves = [[left, right]]
      return target.length < SPLIT.partMin ? halves : [...halves, [left, target]]
    })
    .filter((parts) => parts.every((part) => part.isWellFormed()))
    .map((words) => ({ words, weight: 0.9, ifAbsent: true }))
}

const SPLIT = { lengthMin: 6, lengthMax: 20, partMin: 2 } as const

/** Swaps each two adjacent letters of a word that may be mistyped: `wetaher`. */
function swapLetters(word: string): Alternative[] {
  if (word.length < SWAP.lengthMin || word.length > SWAP.lengthMax) return []
  if (wordVectors().rankOf(word) !== undefined) return []
  const swapped = Array.from(
    { length: word.length - 1 },
    (_, i) => `${word.slice(0, i)}${word[i + 1]}${word[i]}${word.slice(i + 2)}`,
  )
  return [...new Set(swapped)]
    .filter((other) => other !== word && other.isWellFormed())
    .map((other) => ({ words: [other], weight: SWAP.weight, ifAbsent: true }))
}

/** Swaps of shorter words are often other words. */
const SWAP = { lengthMin: 5, lengthMax: 20, weight: 0.85 } as const

/** Joins words that may be written as one: `geo coding`, but not `it is`. */
function joinedWords(words: readonly string[], at: number, length: number): Alternative[] {
  const pair = length === 1 ? words.slice(at, at + 2) : words.slice(at, at + length)
  if (pair.length < 2 || pair.every((word) => SMALL_WORDS.has(word))) return []
  return [{ words: [pair.join('')], weight: 1 }]
}
