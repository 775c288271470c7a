import { type Known, meet } from './known.ts'
import { ALL, type Memory } from './memory.ts'
import type { Query, Span } from './query.ts'
import { corrections } from './spelling.ts'
import type { Reader } from './store.ts'

/** One way to match: all of its terms, as they are indexed. */
export interface Way {
  readonly terms: readonly string[]
  /** How much of a match it is, of 1. */
  readonly weight: number
  /** What is told of it: what was asked for, and what that was taken for. */
  readonly meant: { readonly asked: string; readonly as: string }
}

/** A span of the query: either each of its words in some way, or all of it in another. */
export interface Part {
  readonly weight: number
  readonly words: readonly (readonly Way[])[]
  readonly whole: readonly Way[]
}

/** A query as it meets this catalogue. */
export interface Terms {
  readonly parts: readonly Part[]
  /** How telling a term is: much where it is rare; 0 where it is nowhere. */
  readonly idf: ReadonlyMap<string, number>
  /** Of the terms of the words that were asked for, and of the whole vocabulary. */
  readonly versions: ReadonlyMap<string, string>
}

const NOTHING: Terms = { parts: [], idf: new Map(), versions: new Map() }

/** Shorter stems are told, since they may be those of other words: `io` of `ios`. */
const STEM_MIN = 4

/** More would not change what is found first. */
const TERMS_MAX = 24

/** Meets the words of a query with the vocabulary of the catalogue. */
export async function findTerms(reader: Reader, memory: Memory, { spans }: Query): Promise<Terms> {
  if (spans.length === 0) return NOTHING
  const asked = new Set(spans.flatMap(({ words }) => words))
  const others = spans.flatMap(({ alternatives }) => alternatives.flatMap(({ words }) => words))
  const rows = await meet(reader, memory, asked, others)
  const known = Map.groupBy(rows, ({ word }) => word)
  const total = known.get(ALL)![0]!.documents
  const counts = rows.flatMap((row) => [row, ...(row.near ?? [])])
  const idf = new Map(counts.map((row) => [row.term, idfOf(row.documents, total)]))
  const versions = new Map(rows.map(({ term, version }) => [term, version]))
  return { parts: spans.map((span) => evened(partOf(span, known), idf)), idf, versions }
}

/** The terms that tell most, each with what its postings are multiplied with. */
export function weightsOf({ parts, idf }: Terms): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const { weight, words, whole } of parts) {
    for (const way of [...words.flat(), ...whole]) {
      for (const term of way.terms) {
        const worth = weight * way.weight * (idf.get(term) ?? 0)
        if (worth > (weights.get(term) ?? 0)) weights.set(term, worth)
      }
    }
  }
  return new Map([...weights].toSorted(([, a], [, b]) => b - a).slice(0, TERMS_MAX))
}

/** Of BM25. */
const idfOf = (documents: number, total: number): number =>
  documents === 0 ? 0 : Math.log(1 + (total - documents + 0.5) / (documents + 0.5))

function partOf(
  { words, weight, alternatives }: Span,
  known: ReadonlyMap<string, readonly Known[]>,
): Part {
  const asked = words.join(' ')
  const whole = alternatives.flatMap((other): Way[] => {
    const terms = other.words.flatMap((word) => (known.get(word) ?? []).map(({ term }) => term))
    if (terms.length === 0) return []
    return [{ terms, weight: other.weight, meant: { asked, as: other.words.join(' ') } }]
  })
  return { weight, whole, words: words.map((word) => waysOf(word, known.get(word) ?? [])) }
}

/** Rare words for a common one, or three words for one, do not make it worth more. */
function evened(part: Part, idf: Terms['idf']): Part {
  const worth = (terms: readonly string[]) => terms.reduce((sum, t) => sum + (idf.get(t) ?? 0), 0)
  const own = part.words.reduce((sum, [way]) => sum + worth(way?.terms ?? []), 0)
  if (own === 0) return part
  const whole = part.whole.map((way) => ({
    ...way,
    weight: way.weight * Math.min(1, own / Math.max(worth(way.terms), own)),
  }))
  return { ...part, whole }
}

/** The word itself; where nothing has it, what was probably meant. */
function waysOf(word: string, rows: readonly Known[]): Way[] {
  const own: Way[] = rows.map(({ term }) => ({
    terms: [term],
    weight: 1,
    meant: { asked: word, as: term.length < STEM_MIN ? term : word },
  }))
  const spelt = rows.flatMap(({ term, near }) =>
    corrections(term, near ?? []).map((correction) => ({
      terms: [correction.term],
      weight: correction.weight,
      meant: { asked: word, as: correction.term },
    })),
  )
  return [...own, ...spelt]
}
