import type { ClientBase } from 'pg'
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
  readonly nameTerms: number
  readonly places: ReadonlyMap<string, Places>
}

/** Hits of one search, the deepest page included. */
const DEPTH = 100
/** So many postings are read, shared among the terms: of each from those on where it says most. */
const POSTINGS = 4_000
/** With filters more, since many will not pass. */
const FILTERED_POSTINGS = 12_000
/** Where filters leave no more than so many, all of them are looked at. */
const NARROW = 3_000
/** Listings of one host share its name. */
const EXACT = 50

interface Row extends Omit<Candidate, 'places' | 'nameTerms'> {
  readonly vector: string
}

const CONDITIONS: Readonly<Record<keyof Filters, (value: string) => string>> = {
  type: (value) => `e.kind = ${value}`,
  category: (value) => `e.category = ${value}`,
  tag: (value) => `e.tags @> ARRAY[${value}::text]`,
  network: (value) => `e.networks @> ARRAY[${value}::text]`,
  maxPrice: (value) => `e.price <= ${value}::bigint`,
}

/**
 * The documents that match the terms best, by a first, rough measure, and those of that name.
 * @param terms with their weights: what BM25 multiplies a posting with; undefined: all documents,
 *   those that work best first
 * @param name as `squashed` writes it
 */
export async function findCandidates(
  client: ClientBase,
  terms: ReadonlyMap<string, number> | undefined,
  name: string,
  filters: Filters,
): Promise<Candidate[]> {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  const where = conditions(given, 4)
  const byFilters = terms !== undefined && where !== '' && (await isNarrow(client, given))
  const docs =
    terms === undefined ? best(where) : byFilters ? narrow(where) : wide(where, terms.size)
  const { rows } = await client.query<Row>(statement(docs, where), [
    [...(terms?.keys() ?? [])],
    [...(terms?.values() ?? [])],
    name,
    ...given.map(([, value]) => value),
  ])
  return rows.map(({ vector, ...row }) => ({ ...row, ...readVector(vector, terms) }))
}

const conditions = (given: readonly (readonly [string, unknown])[], first: number): string =>
  given.map(([key], i) => CONDITIONS[key as keyof Filters](`$${i + first}`)).join(' AND ')

async function isNarrow(client: ClientBase, given: readonly (readonly [string, unknown])[]) {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::integer AS count
     FROM (SELECT FROM hub.search_entry e WHERE ${conditions(given, 1)} LIMIT ${NARROW + 1}) e`,
    given.map(([, value]) => value),
  )
  return rows[0]!.count <= NARROW
}

/** From the terms: their strongest postings, added up. */
const wide = (where: string, terms: number): string => {
  if (where === '') {
    const read = Math.ceil(POSTINGS / Math.max(terms, 1))
    return `SELECT hub.search_strongest($1, $2, ${read}, ${DEPTH}) AS doc`
  }
  return `
    SELECT p.doc FROM q CROSS JOIN LATERAL (
      SELECT doc, impact FROM (
        SELECT doc, impact FROM hub.search_posting WHERE term = q.term COLLATE "C"
        ORDER BY term DESC, impact DESC, doc DESC
        LIMIT ${Math.ceil(FILTERED_POSTINGS / Math.max(terms, 1))}) r
      JOIN hub.search_entry e USING (doc) WHERE ${where}) p
    GROUP BY p.doc ORDER BY sum(p.impact * q.weight) DESC, p.doc LIMIT ${DEPTH}`
}

/** From the filters: whatever they leave, measured one by one. */
const narrow = (where: string): string => `
  SELECT e.doc FROM hub.search_entry e CROSS JOIN LATERAL (
    SELECT sum(i.impact * q.weight) AS score
    FROM hub.search_impacts(e.vector) i JOIN q USING (term)) s
  WHERE ${where} AND s.score IS NOT NULL ORDER BY s.score DESC, e.doc LIMIT ${DEPTH}`

const best = (where: string): string => `
  SELECT e.doc FROM hub.search_entry e ${where === '' ? '' : `WHERE ${where}`}
  ORDER BY e.quality DESC, e.doc DESC LIMIT ${DEPTH}`

const statement = (docs: string, where: string): string => `
  WITH q AS (SELECT * FROM unnest($1::text[], $2::real[]) q (term, weight)), exact AS (
    SELECT e.doc FROM hub.search_entry e
    WHERE e.names @> ARRAY[$3::text] ${where === '' ? '' : `AND ${where}`}
    ORDER BY e.quality DESC, e.doc LIMIT ${EXACT}
  ), exactly AS (SELECT coalesce(array_agg(doc), '{}') AS docs FROM exact)
  SELECT s.*, s.doc = ANY (x.docs) AS exact
  FROM exactly x CROSS JOIN LATERAL hub.search_details(
    x.docs || ARRAY(SELECT f.doc FROM (${docs}) f)) s`

/**
 * Reads a tsvector as PostgreSQL writes it, `'rain':2A,8`: what is said of the given terms, and how
 * many words are in the name. Cheaper here than by `unnest` there.
 */
function readVector(
  vector: string,
  terms: ReadonlyMap<string, number> | undefined,
): Pick<Candidate, 'places' | 'nameTerms'> {
  const places = new Map<string, Places>()
  let nameTerms = 0
  for (const entry of vector.split(' ')) {
    const colon = entry.lastIndexOf(':')
    const at = entry.slice(colon + 1)
    if (at.includes('A')) nameTerms++
    const term = entry.slice(1, colon - 1)
    if (terms?.has(term)) places.set(term, placesOf(at.split(',')))
  }
  return { places, nameTerms }
}

/** The field D is not written. */
const placesOf = (list: readonly string[]): Places => ({
  positions: list.map((each) => Number.parseInt(each, 10)),
  fields: list.map((each) => (/[ABC]$/.test(each) ? each.at(-1) : 'D')).join(''),
})
