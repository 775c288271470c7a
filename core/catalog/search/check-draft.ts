import type { Micros } from '../../money.ts'
import { type Entry, type IndexCache, NO_POSTINGS, type Reader } from './index-cache.ts'
import type { TermPlaces } from './places.ts'

/** Filters of a search; all that are given must hold. */
export interface SearchFilters {
  readonly type?: 'native' | 'external' | undefined
  readonly category?: string | undefined
  readonly tag?: string | undefined
  /** CAIP-2. */
  readonly network?: string | undefined
  /** Microdollars: at least one endpoint costs no more. */
  readonly maxPrice?: Micros | undefined
}

/** Document that may become a hit. */
export interface Candidate extends Entry {
  /** True if its name, slug, URL or host is exactly the query. */
  readonly exact: boolean
  readonly places: ReadonlyMap<string, TermPlaces>
}

/** Result computed from cached data, to be checked by the database. */
export interface SearchDraft {
  /** Terms of the query, with the versions that were used. */
  readonly versions: ReadonlyMap<string, string>
  /** Best documents by their terms. */
  readonly docs: readonly number[]
  /** Maximum number of documents returned, of those that pass the filters. */
  readonly depth: number
  /** Reduced by `squashName`. */
  readonly name: string
  readonly filters: SearchFilters
}

export interface CheckedDraft {
  /** True if no term has changed since the draft was computed. */
  readonly isCurrent: boolean
  /** Number of its documents that passed the filters. */
  readonly passed: number
  /** Documents that passed, and those with exactly the queried name. */
  readonly entries: readonly Entry[]
  readonly exact: ReadonlySet<number>
}

interface CheckRow {
  readonly stale: readonly { term: string; version: string; documents: number }[] | null
  readonly exact: string | null
  readonly docs: string | null
  readonly entries: readonly Entry[] | null
}

/** Named, so that each session parses and plans it only once. */
const CHECK = {
  name: 'search.check',
  text: 'SELECT * FROM hub.search_checked($1, $2, $3, $4, $5, $6, ROW($7, $8, $9, $10, $11))',
}

/** Compares a draft with the current index in one statement, which also updates the cache. */
export async function checkDraft(
  reader: Reader,
  cache: IndexCache,
  draft: SearchDraft,
): Promise<CheckedDraft> {
  const entries = new Map(draft.docs.map((doc) => [doc, cache.entries.get(doc)]))
  const values = [
    [...draft.versions.keys()],
    toPgArray([...draft.versions.values()]),
    toPgArray(draft.docs),
    toPgArray(draft.docs.map((doc) => entries.get(doc)?.version ?? '0')),
    draft.depth,
    draft.name,
    ...filterValues(draft.filters),
  ]
  const { rows } = await reader.query<CheckRow>({ ...CHECK, values })
  const { stale, exact, docs, entries: updates } = rows[0]!
  for (const { term, ...state } of stale ?? []) {
    cache.store(term, { ...state, postings: NO_POSTINGS })
  }
  for (const entry of updates ?? []) {
    entries.set(entry.doc, entry)
    cache.entries.set(entry.doc, entry)
  }
  const passed = parsePgArray(docs)
  const namesakes = new Set(parsePgArray(exact))
  return {
    isCurrent: stale === null,
    passed: passed.length,
    entries: [...new Set([...passed, ...namesakes])].map((doc) => entries.get(doc)!),
    exact: namesakes,
  }
}

/** Writes `{1,2}` directly, because pg would check each element for quotes. */
const toPgArray = (all: readonly (number | string)[]): string => `{${all.join(',')}}`

/** Parses `{1,2}` as JSON after replacing the braces. */
export const parsePgArray = (text: string | null): readonly number[] =>
  text === null ? [] : (JSON.parse(`[${text.slice(1, -1)}]`) as number[])

export const filterValues = ({ type, category, tag, network, maxPrice }: SearchFilters) => [
  type,
  category,
  tag,
  network,
  maxPrice,
]
