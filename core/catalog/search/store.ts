import type { ClientBase, Pool } from 'pg'
import type { Micros } from '../../money.ts'

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

/** Where a term stands in a document. */
export interface Places {
  readonly positions: readonly number[]
  /** A name, B tags, category and provider, C description, D endpoints; one for each position. */
  readonly fields: string
}

/** A document that may be a hit, with what ranking needs to know. */
export interface Candidate {
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
  /** Whether its name, slug, address or host is what was asked for, to the letter. */
  readonly exact: boolean
  readonly words: number
  /** How many different words its name has. */
  readonly nameWords: number
  readonly places: ReadonlyMap<string, Places>
}

/** What searches ask: a pool, or a transaction that is under way. */
export type Reader = Pool | ClientBase

/** Hits of one search, the deepest page included. */
const DEPTH = 100
/**
 * So many postings are read, shared among the terms by what they tell: of each those where it says
 * most. With 60,000 the ten best hits were better by three parts in a hundred.
 */
const POSTINGS = 1_500

const FIND = 'SELECT * FROM hub.search_found($1, $2, $3, $4, $5, ROW($6, $7, $8, $9, $10))'

interface Row extends Omit<Candidate, 'places'> {
  readonly vector: string
}

/**
 * The documents that match the terms best, by a first, rough measure, and those of that name.
 * @param terms with their weights: what BM25 multiplies a posting with; undefined: all documents,
 *   those that work best first
 * @param name as `squashed` writes it
 */
export async function findCandidates(
  reader: Reader,
  terms: ReadonlyMap<string, number> | undefined,
  name: string,
  { type, category, tag, network, maxPrice }: Filters,
): Promise<Candidate[]> {
  const weights = terms && [...terms.values()]
  const { rows } = await reader.query<Row>(FIND, [
    terms && [...terms.keys()],
    weights,
    weights && shares(weights),
    DEPTH,
    name,
    type,
    category,
    tag,
    network,
    maxPrice,
  ])
  const written = [...(terms?.keys() ?? [])].map((term) => [term, asWritten(term)] as const)
  return rows.map(({ vector, ...row }) => ({ ...row, places: placesIn(vector, written) }))
}

/** How many postings are read of each term. */
function shares(weights: readonly number[]): number[] {
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => (all === 0 ? 0 : Math.ceil((POSTINGS * weight) / all)))
}

/** The beginning of a term's entry in a tsvector as PostgreSQL writes it: `'rain':`. */
const asWritten = (term: string): string =>
  `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}':`

/** Where the terms stand in `'rain':2A,8 'snow':4`. Cheaper here than by `unnest` there. */
function placesIn(
  vector: string,
  terms: readonly (readonly [term: string, written: string])[],
): ReadonlyMap<string, Places> {
  const places = new Map<string, Places>()
  for (const [term, written] of terms) {
    const at = vector.indexOf(written)
    if (at < 0) continue
    places.set(term, placesAt(vector, at + written.length))
  }
  return places
}

const PLACE = /(\d+)([ABC]?),?/y

/** Reads `2A,8`. The field D is not written. */
function placesAt(vector: string, from: number): Places {
  const positions: number[] = []
  let fields = ''
  PLACE.lastIndex = from
  for (let place = PLACE.exec(vector); place; place = PLACE.exec(vector)) {
    positions.push(Number(place[1]))
    fields += place[2] || 'D'
  }
  return { positions, fields }
}
