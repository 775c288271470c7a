import { type Memory, memoryOf } from './memory.ts'
import { asWritten, placesIn } from './places.ts'
import { headsOf, readings, strongest } from './postings.ts'
import type { Query } from './query.ts'
import {
  type Candidate,
  type Checked,
  check,
  type Filters,
  filterValues,
  integers,
  type Reader,
} from './store.ts'
import { findTerms, type Terms, weightsOf } from './terms.ts'

/** Hits of one search, the deepest page included. */
const DEPTH = 100
/** With a filter, so many of the strongest are tried on it. */
const TRIED = 500
const ENOUGH = 40
/** Where fewer of them pass, so many times as many postings are looked at. */
const FURTHER = 6
/** Where more than this pass, enough are among the strongest: see `search_passing`. */
const PASSING_MAX = 6_000
/** The index is written while it is searched: the last draft stands, be it a moment old. */
const DRAFTS = 3

const PASSING = 'SELECT * FROM hub.search_passing($1, $2, ROW($3, $4, $5, $6, $7))'

export interface Found {
  readonly terms: Terms
  readonly candidates: readonly Candidate[]
}

/** A search as it was asked. */
interface Asked {
  readonly query: Query
  /** As `squashed` writes it. */
  readonly name: string
  readonly filters: Filters
  /** Whether all documents are asked for, those that work best first. */
  readonly isEmpty: boolean
}

/**
 * The documents that match a query best, by a first, rough measure, and those of that name. They
 * are found in what this process remembers of the index; then the database tells what of that is
 * out of date, if anything is, and it is done again.
 */
export async function findCandidates(reader: Reader, asked: Asked): Promise<Found> {
  const memory = memoryOf(reader)
  for (let attempt = 1; ; attempt++) {
    const terms = await findTerms(reader, memory, asked.query)
    const weights = weightsOf(terms)
    const checked = await checkedBest(reader, memory, asked, weights, new Map(terms.versions))
    if (checked.isCurrent || attempt === DRAFTS) {
      return { terms, candidates: candidatesOf(checked, [...weights.keys()]) }
    }
  }
}

/**
 * The best by the terms, as they are in the database.
 * @param versions by which the weights were reckoned; others join them as postings are added up
 */
async function checkedBest(
  reader: Reader,
  memory: Memory,
  { name, filters, isEmpty }: Asked,
  weights: ReadonlyMap<string, number>,
  versions: Map<string, string>,
): Promise<Checked> {
  const verify = (docs: readonly number[]) =>
    check(reader, memory, { versions, docs, depth: DEPTH, name, filters })
  if (isEmpty) return verify(integers((await passingOf(reader, null, filters)).best))
  const usual = readings(weights)
  const read = await headsOf(reader, memory, usual, versions)
  if (filterValues(filters).every((value) => value === undefined)) {
    return verify(strongest(usual, read, DEPTH))
  }
  const tried = strongest(usual, read, TRIED)
  const checked = await verify(tried)
  const isAll = tried.length < TRIED && usual.every(({ reads }, i) => read[i]!.documents <= reads)
  if (checked.passed >= ENOUGH || isAll || !checked.isCurrent) return checked
  const { best, passing } = await passingOf(reader, [...weights.keys()], filters)
  if (passing === null) return verify(integers(best))
  const among = integers(passing)
  const more = readings(weights, FURTHER)
  const readMore = await headsOf(reader, memory, more, versions)
  return among.length > PASSING_MAX
    ? verify(strongest(more, readMore, FURTHER * TRIED))
    : verify(strongest(more, readMore, DEPTH, new Set(among)))
}

interface Passing {
  readonly best: string | null
  readonly passing: string | null
}

async function passingOf(
  reader: Reader,
  terms: readonly string[] | null,
  filters: Filters,
): Promise<Passing> {
  const values = [terms, DEPTH, ...filterValues(filters)]
  const { rows } = await reader.query<Passing>(PASSING, values)
  return rows[0]!
}

function candidatesOf({ entries, exact }: Checked, terms: readonly string[]): Candidate[] {
  const written = terms.map((term) => [term, asWritten(term)] as const)
  return entries.map((entry) => ({
    ...entry,
    exact: exact.has(entry.doc),
    places: placesIn(entry.vector, written),
  }))
}
