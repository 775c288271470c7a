import { type Micros, micros, usd } from '../../money.ts'
import { type Alternative, synonymsOf } from './synonyms.ts'
import { plainWords } from './words.ts'

/** Words that follow each other in a query and mean one thing together. */
export interface Span {
  readonly words: readonly string[]
  /** How much they count: words that every second query has count little. */
  readonly weight: number
  readonly alternatives: readonly Alternative[]
}

/** What somebody would rather have, if they say so. */
export type Wish = 'cheap' | 'fast' | 'reliable'

export interface Query {
  readonly text: string
  readonly spans: readonly Span[]
  readonly wishes: ReadonlySet<Wish>
  /** "under $0.01": microdollars. */
  readonly maxPrice: Micros | undefined
}

/** More words than any question needs. */
const WORDS_MAX = 32
/** Said in many queries and of nearly everything. */
const FILLERS = new Set(
  (
    'api apis service services endpoint endpoints tool tools app agent need want wants looking ' +
    'find give get please help using use based simple best good great provider platform ' +
    'solution data ' +
    'online via info information'
  ).split(' '),
)
const FILLER_WEIGHT = 0.25

const WISHES: Readonly<Record<string, Wish>> = {
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

const PRICE = new RegExp(
  '\\b(?:under|below|less than|cheaper than|max(?:imum)?|at most|up to|no more than)\\s+' +
    '(?:\\$\\s?(\\d{1,6}(?:\\.\\d{1,6})?)|(\\d{1,6}(?:\\.\\d{1,6})?)\\s?(?:usdc?|dollars?)\\b' +
    '|(\\d{1,4})\\s?(?:cents?\\b|¢))(?:\\s+(?:per|a)\\s+(?:call|request))?',
  'i',
)

/** Reads a query: its words, what else may be meant by them, and wishes that are none of them. */
export function readQuery(text: string): Query {
  const price = PRICE.exec(text)
  const rest = price ? text.replace(price[0], ' ') : text
  const all = plainWords(rest).slice(0, WORDS_MAX)
  const asked = all.filter((word) => !Object.hasOwn(WISHES, word))
  const words = asked.length > 0 ? asked : all
  const wishes = new Set(all.flatMap((word) => (Object.hasOwn(WISHES, word) ? WISHES[word]! : [])))
  return { text, spans: spansOf(words), wishes, maxPrice: price ? priceOf(price) : undefined }
}

const priceOf = ([, dollars, usdc, cents]: RegExpExecArray): Micros =>
  cents === undefined ? usd((dollars ?? usdc)!) : micros(BigInt(cents) * 10_000n)

/** Cuts words into spans, the longest ones that have synonyms first from the left. */
function spansOf(words: readonly string[]): Span[] {
  const spans: Span[] = []
  for (let at = 0; at < words.length; ) {
    const { length, alternatives } = synonymsOf(words, at)
    const own = words.slice(at, at + length)
    const weight = own.every((word) => FILLERS.has(word)) ? FILLER_WEIGHT : 1
    spans.push({
      words: own,
      weight,
      alternatives: [...alternatives, ...joined(words, at, length)],
    })
    at += length
  }
  return spans
}

/** Words written apart that may be one: `geo coding`. */
function joined(words: readonly string[], at: number, length: number): Alternative[] {
  const pair = length === 1 ? words.slice(at, at + 2) : words.slice(at, at + length)
  return pair.length < 2 ? [] : [{ words: [pair.join('')], weight: 1 }]
}
