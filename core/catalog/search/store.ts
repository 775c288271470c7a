import type { ClientBase, Pool } from 'pg'
import type { Micros } from '../../money.ts'
import { type Memory, NO_POSTINGS } from './memory.ts'
import type { Places } from './places.ts'

/** What a search is narrowed by; every one that is given must hold. */
export interface Filters {
  readonly type?: 'native' | 'external' | undefined
  readonly category?: string | undefined
  readonly tag?: string | undefined
  /** CAIP-2. */
  readonly network?: string | undefined
  /** Microdollars: at least one endpoint costs no more. */
  readonly maxPrice?: Micros | undefined
}

/** A document, with what ranking needs to know of it. */
export interface Entry {
  readonly doc: number
  /** Of this state of it. */
  readonly version: string
  readonly kind: 'native' | 'external'
  readonly id: string
  /** Microdollars, of the cheapest endpoint. */
  readonly price: number
  /** 0 to 20: see `hub.search_quality`. */
  readonly quality: number
  /** Milliseconds since 1970. */
  readonly listedAt: number
  readonly verifiedAt: number | null
  readonly latencyMs: number | null
  readonly calls: number
  readonly delivered: number
  readonly words: number
  /** How many different words its name has. */
  readonly nameWords: number
  /** Its words, as PostgreSQL writes a tsvector. */
  readonly vector: string
}

/** A document that may be a hit. */
export interface Candidate extends Entry {
  /** Whether its name, slug, address or host is what was asked for, to the letter. */
  readonly exact: boolean
  readonly places: ReadonlyMap<string, Places>
}

/** What searches ask: a pool, or a transaction that is under way. */
export type Reader = Pool | ClientBase

/** What a search was made of. */
export interface Draft {
  /** The terms of its words, with the versions by which they were reckoned. */
  readonly versions: ReadonlyMap<string, string>
  /** The best by the terms. */
  readonly docs: readonly number[]
  /** So many of them, of those that pass the filters. */
  readonly depth: number
  /** As `squashed` writes it. */
  readonly name: string
  readonly filters: Filters
}

/** A draft, as the index has it. */
export interface Checked {
  /** Whether all terms are still those of the draft. */
  readonly isCurrent: boolean
  /** How many of its documents passed. */
  readonly passed: number
  /** Those that passed, and those of that name. */
  readonly entries: readonly Entry[]
  readonly exact: ReadonlySet<number>
}

interface Answer {
  readonly stale: readonly { term: string; version: string; documents: number }[] | null
  readonly exact: string | null
  readonly docs: string | null
  readonly entries: readonly Entry[] | null
}

/** Under a name: a session parses and plans it once. */
const CHECK = {
  name: 'search.check',
  text: 'SELECT * FROM hub.search_checked($1, $2, $3, $4, $5, $6, ROW($7, $8, $9, $10, $11))',
}

/**
 * Has the database compare what a search was made of with what is there now, all at one moment:
 * what changed since it was read, and what was never read, comes with the answer.
 */
export async function check(reader: Reader, memory: Memory, draft: Draft): Promise<Checked> {
  const entries = new Map(draft.docs.map((doc) => [doc, memory.entries.get(doc)]))
  const values = [
    [...draft.versions.keys()],
    numbers([...draft.versions.values()]),
    numbers(draft.docs),
    numbers(draft.docs.map((doc) => entries.get(doc)?.version ?? '0')),
    draft.depth,
    draft.name,
    ...filterValues(draft.filters),
  ]
  const { rows } = await reader.query<Answer>({ ...CHECK, values })
  const { stale, exact, docs, entries: told } = rows[0]!
  for (const { term, ...state } of stale ?? []) memory.learn(term, { ...state, head: NO_POSTINGS })
  for (const entry of told ?? []) {
    entries.set(entry.doc, entry)
    memory.entries.set(entry.doc, entry)
  }
  const passed = integers(docs)
  const namesakes = new Set(integers(exact))
  return {
    isCurrent: stale === null,
    passed: passed.length,
    entries: [...new Set([...passed, ...namesakes])].map((doc) => entries.get(doc)!),
    exact: namesakes,
  }
}

/** Writes `{1,2}`; pg would look for quotes in each. */
const numbers = (all: readonly (number | string)[]): string => `{${all.join(',')}}`

/** Reads `{1,2}`: JSON but for the braces. */
export const integers = (text: string | null): readonly number[] =>
  text === null ? [] : (JSON.parse(`[${text.slice(1, -1)}]`) as number[])

export const filterValues = ({ type, category, tag, network, maxPrice }: Filters) => [
  type,
  category,
  tag,
  network,
  maxPrice,
]
