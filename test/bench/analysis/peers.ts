/** npm libraries that the engine is compared with, each in its simplest use. */
import { createRequire } from 'node:module'
import nlp from 'compromise'
import model from 'wink-eng-lite-web-model'
import winkNLP from 'wink-nlp'
import type { FoundSpan } from './score.ts'

interface Vader {
  readonly SentimentIntensityAnalyzer: {
    readonly polarity_scores: (text: string) => { readonly compound: number }
  }
}
const vader = createRequire(import.meta.url)('vader-sentiment') as Vader

const wink = winkNLP(model, ['sbd', 'negation', 'sentiment', 'pos', 'ner'])

interface Piece {
  readonly text: string
  readonly offset: { readonly start: number; readonly length: number }
}
interface Matches {
  readonly json: (options: object) => readonly Piece[]
}
interface View {
  readonly people: () => Matches
  readonly organizations: () => Matches
  readonly places: () => Matches
  readonly money: () => Matches
  readonly match: (pattern: string) => Matches
}

const read = (text: string): View => nlp(text) as View

const spansOf = (text: string, matches: Matches, type: string): FoundSpan[] =>
  matches.json({ offset: true, terms: false }).flatMap(({ offset: { start, length } }) => {
    const name = text.slice(start, start + length)
    const inner = name.replace(/^[^\p{L}\p{N}$€£]+|(?:['’]s)?[^\p{L}\p{N}%)]*$/gu, '')
    const from = start + name.indexOf(inner)
    return inner === '' ? [] : [{ start: from, end: from + inner.length, type }]
  })

/** Finds people, organizations and places with compromise. */
export const compromiseNames = (text: string): FoundSpan[] => {
  const doc = read(text)
  return [
    ...spansOf(text, doc.people(), 'person'),
    ...spansOf(text, doc.organizations(), 'organization'),
    ...spansOf(text, doc.places(), 'location'),
  ]
}

/** Finds dates and amounts of money with compromise. */
export const compromiseValues = (text: string): FoundSpan[] => {
  const doc = read(text)
  return [
    ...spansOf(text, doc.match('#Date+'), 'date'),
    ...spansOf(text, doc.match('(#Money|#Percent|#Value)+'), 'amount'),
  ]
}

const WINK_TYPES = new Map([
  ['DATE', 'date'],
  ['TIME', 'date'],
  ['DURATION', 'date'],
  ['MONEY', 'amount'],
  ['PERCENT', 'amount'],
  ['CARDINAL', 'amount'],
])

/** Subset of the wink-nlp API, whose types leave results untyped. */
interface Things {
  readonly out: (what?: unknown) => unknown
}
interface Doc extends Things {
  readonly tokens: () => Things
  readonly entities: () => Things
}
const docOf = (text: string): Doc => wink.readDoc(text)
const properties: Readonly<Record<'precedingSpaces' | 'span' | 'type' | 'sentiment', unknown>> =
  wink.its

/** Finds dates and amounts with wink-nlp, which does not recognize names. */
export const winkValues = (text: string): FoundSpan[] => {
  const doc = docOf(text)
  const words = doc.tokens().out() as string[]
  const spaces = doc.tokens().out(properties.precedingSpaces) as string[]
  const starts: number[] = []
  let at = 0
  for (const [index, word] of words.entries()) {
    at += spaces[index]?.length ?? 0
    starts.push(at)
    at += word.length
  }
  const spans = doc.entities().out(properties.span) as [number, number][]
  const types = doc.entities().out(properties.type) as string[]
  return spans.flatMap(([first, last], index) => {
    const type = WINK_TYPES.get(types[index] ?? '')
    const end = (starts[last] ?? 0) + (words[last]?.length ?? 0)
    return type === undefined ? [] : [{ start: starts[first] ?? 0, end, type }]
  })
}

/** Returns the sentiment from -1 to 1 by wink-nlp. */
export const winkSentiment = (text: string): number => Number(docOf(text).out(properties.sentiment))

/** Returns the sentiment from -1 to 1 by VADER. */
export const vaderSentiment = (text: string): number =>
  vader.SentimentIntensityAnalyzer.polarity_scores(text).compound
