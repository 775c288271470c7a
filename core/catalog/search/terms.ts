import { ALL_DOCUMENTS, type IndexCache, type Reader } from './index-cache.ts'
import { wordVectors } from './meaning/word-vectors.ts'
import type { Query, QuerySpan } from './query.ts'
import { correctSpelling, type Fit } from './spelling.ts'
import { lookUpWords, type VocabularyTerm } from './word-lookup.ts'

/** Set of indexed terms that match a part of the query if a document contains all of them. */
export interface MatchVariant {
  readonly terms: readonly string[]
  /** Value of a match, from 0 to 1. */
  readonly weight: number
  /** Words of the query and how they were read, for the explanation of a hit. */
  readonly reading: { readonly asked: string; readonly as: string }
  /** True for another spelling of a word that no document contains. */
  readonly isCorrected?: true
}

/** Span of the query: matched word by word, or as a whole by an alternative. */
export interface QueryPart {
  readonly weight: number
  readonly words: readonly (readonly MatchVariant[])[]
  readonly alternatives: readonly MatchVariant[]
}

/** Terms of a query in the current vocabulary. */
export interface QueryTerms {
  readonly parts: readonly QueryPart[]
  /** Inverse document frequency by term; 0 if no document contains it. */
  readonly idf: ReadonlyMap<string, number>
  /** Inverse document frequency that a term of no document would have. */
  readonly absentIdf: number
  /** Versions of the terms of the query's words, and of the whole vocabulary. */
  readonly versions: ReadonlyMap<string, string>
}

const NO_TERMS: QueryTerms = { parts: [], idf: new Map(), absentIdf: 0, versions: new Map() }

/** Shorter stems are shown instead of the word, because words may share them: `io` of `ios`. */
const STEM_SHOWN_MIN = 4

/** More terms do not change the best hits. */
const TERMS_MAX = 24

/** Looks up the words of a query in the vocabulary. */
export async function findTerms(
  reader: Reader,
  cache: IndexCache,
  { spans }: Query,
): Promise<QueryTerms> {
  if (spans.length === 0) return NO_TERMS
  const { asked, rows } = await lookUpSpans(reader, cache, spans)
  const byWord = Map.groupBy(rows, ({ word }) => word)
  const total = byWord.get(ALL_DOCUMENTS)![0]!.documents
  const counts = rows.flatMap((row) => [row, ...(row.near ?? [])])
  const idf = new Map(counts.map((row) => [row.term, computeIdf(row.documents, total)]))
  const versions = new Map(rows.map(({ term, version }) => [term, version]))
  const parts = asked.map((span) =>
    capVariantWeights(buildPart(span, byWord, fitOf(spans, span)), idf),
  )
  return { parts, idf, absentIdf: Math.log(2 * total + 2), versions }
}

/** Looks up the words of spans; alternatives for absent words only of spans that are absent. */
async function lookUpSpans(reader: Reader, cache: IndexCache, spans: readonly QuerySpan[]) {
  const queried = new Set(spans.flatMap(({ words }) => words))
  const lookUp = (chosen: readonly QuerySpan[]) => {
    const others = chosen.flatMap(({ alternatives }) => alternatives.flatMap(({ words }) => words))
    return lookUpWords(reader, cache, queried, others)
  }
  const usual = spans.map((span) => ({
    ...span,
    alternatives: span.alternatives.filter(({ ifAbsent }) => !ifAbsent),
  }))
  const rows = await lookUp(usual)
  // A stop word has no rows.
  const isAbsent = (word: string): boolean => {
    const own = rows.filter((row) => row.word === word)
    return own.length > 0 && own.every(({ documents }) => documents === 0)
  }
  const absent = spans.map(({ words }) => words.every(isAbsent))
  const asked = spans.map((span, i) => (absent[i] ? span : usual[i]!))
  return { asked, rows: absent.includes(true) ? await lookUp(asked) : rows }
}

/** Returns the most significant terms with the factors for their postings. */
export function termWeights({ parts, idf }: QueryTerms): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const { weight, words, alternatives } of parts) {
    for (const variant of [...words.flat(), ...alternatives]) {
      for (const term of variant.terms) {
        const value = weight * variant.weight * (idf.get(term) ?? 0)
        if (value > (weights.get(term) ?? 0)) weights.set(term, value)
      }
    }
  }
  return new Map([...weights].toSorted(([, a], [, b]) => b - a).slice(0, TERMS_MAX))
}

/** Inverse document frequency of BM25. */
const computeIdf = (documents: number, total: number): number =>
  documents === 0 ? 0 : Math.log(1 + (total - documents + 0.5) / (documents + 0.5))

/** Returns how well a term fits the other words of a query; undefined if unknown. */
function fitOf(spans: readonly QuerySpan[], own: QuerySpan): Fit {
  const others = spans.filter((span) => span !== own).flatMap(({ words }) => words)
  return (term) => {
    const vectors = wordVectors()
    const known = others.filter((word) => vectors.rankOf(word) !== undefined)
    if (known.length === 0 || vectors.rankOf(term) === undefined) return undefined
    return Math.max(...known.map((word) => vectors.similarity(term, word)))
  }
}

function buildPart(
  { words, weight, alternatives, asked = words.join(' ') }: QuerySpan,
  byWord: ReadonlyMap<string, readonly VocabularyTerm[]>,
  fit: Fit,
): QueryPart {
  const variants = alternatives.flatMap((other): MatchVariant[] => {
    const terms = other.words.flatMap((word) => (byWord.get(word) ?? []).map(({ term }) => term))
    if (terms.length === 0) return []
    return [{ terms, weight: other.weight, reading: { asked, as: other.words.join(' ') } }]
  })
  return {
    weight,
    alternatives: variants,
    words: words.map((word) => wordVariants(word, byWord.get(word) ?? [], fit)),
  }
}

/** Caps alternatives, so that rarer or more words are not worth more than the query's own. */
function capVariantWeights(part: QueryPart, idf: QueryTerms['idf']): QueryPart {
  const worth = (terms: readonly string[]) => terms.reduce((sum, t) => sum + (idf.get(t) ?? 0), 0)
  const own = part.words.reduce((sum, [variant]) => sum + worth(variant?.terms ?? []), 0)
  if (own === 0) return part
  const alternatives = part.alternatives.map((variant) => ({
    ...variant,
    weight: variant.weight * Math.min(1, own / Math.max(worth(variant.terms), own)),
  }))
  return { ...part, alternatives }
}

/** Returns the word itself, followed by its spelling corrections if no document contains it. */
function wordVariants(word: string, rows: readonly VocabularyTerm[], fit: Fit): MatchVariant[] {
  const own: MatchVariant[] = rows.map(({ term }) => ({
    terms: [term],
    weight: 1,
    reading: { asked: word, as: term.length < STEM_SHOWN_MIN ? term : word },
  }))
  const corrected = rows.flatMap(({ term, near }) =>
    correctSpelling({ word, term, near: near ?? [], fit }).map((correction) => ({
      terms: [correction.term],
      weight: correction.weight,
      reading: { asked: word, as: correction.term },
      isCorrected: true as const,
    })),
  )
  return [...own, ...corrected]
}
