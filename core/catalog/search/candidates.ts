import {
  type Candidate,
  type CheckedDraft,
  checkDraft,
  filterValues,
  parsePgArray,
  type SearchFilters,
} from './check-draft.ts'
import { type IndexCache, indexCacheOf, type Reader } from './index-cache.ts'
import { findPlaces, tsvectorForm } from './places.ts'
import { loadPostings, planReadings, strongestDocuments } from './postings.ts'
import type { Query } from './query.ts'
import { findTerms, type QueryTerms, termWeights } from './terms.ts'

/** Hits of one search over all its pages. */
const RESULTS_MAX = 100
/** Strongest documents that are checked against a filter. */
const FILTERED_MAX = 500
/** If fewer of those pass the filter, the search is widened. */
const PASSED_MIN = 40
/** Factor by which a widened search reads more postings. */
const WIDER_FACTOR = 6
/** If more documents pass, enough of them are among the strongest: see `hub.search_passing`. */
const PASSING_MAX = 6_000
/** The index may change during a search; the last attempt counts even if slightly outdated. */
const ATTEMPTS_MAX = 3

const SELECT_PASSING = 'SELECT * FROM hub.search_passing($1, $2, ROW($3, $4, $5, $6, $7))'

interface CandidateQuery {
  readonly query: Query
  /** Reduced by `squashName`. */
  readonly name: string
  readonly filters: SearchFilters
  /** True if all documents match, ranked by quality. */
  readonly isEmpty: boolean
}

/**
 * Returns the best documents for a query by a rough first measure, plus those with exactly that
 * name. They are found in the index cache of this process; the database then reports what is
 * outdated, and if anything is, the search is repeated.
 */
export async function findCandidates(
  reader: Reader,
  request: CandidateQuery,
): Promise<{ readonly terms: QueryTerms; readonly candidates: readonly Candidate[] }> {
  const cache = indexCacheOf(reader)
  for (let attempt = 1; ; attempt++) {
    const terms = await findTerms(reader, cache, request.query)
    const weights = termWeights(terms)
    const checked = await bestDocuments(reader, cache, request, weights, new Map(terms.versions))
    if (checked.isCurrent || attempt === ATTEMPTS_MAX) {
      return { terms, candidates: toCandidates(checked, [...weights.keys()]) }
    }
  }
}

/**
 * Returns the best documents by their terms, as the database has them now.
 * @param versions term versions that the weights are based on; those of read postings are added
 */
async function bestDocuments(
  reader: Reader,
  cache: IndexCache,
  { name, filters, isEmpty }: CandidateQuery,
  weights: ReadonlyMap<string, number>,
  versions: Map<string, string>,
): Promise<CheckedDraft> {
  const verify = (docs: readonly number[]) =>
    checkDraft(reader, cache, { versions, docs, depth: RESULTS_MAX, name, filters })
  if (isEmpty) return verify(parsePgArray((await readPassing(reader, null, filters)).best))
  const readings = planReadings(weights)
  const terms = await loadPostings(reader, cache, readings, versions)
  const isUnfiltered = filterValues(filters).every((value) => value === undefined)
  if (isUnfiltered) {
    const best = strongestDocuments(readings, terms, RESULTS_MAX)
    const checked = await verify(best)
    const isAll = best.length < RESULTS_MAX
    // Unless one seller has most of them.
    if (isAll || checked.passed >= PASSED_MIN || !checked.isCurrent) return checked
  }
  const strongest = strongestDocuments(readings, terms, FILTERED_MAX)
  const checked = await verify(strongest)
  const isExhaustive =
    strongest.length < FILTERED_MAX &&
    readings.every(({ reads }, i) => terms[i]!.documents <= reads)
  if (checked.passed >= PASSED_MIN || isExhaustive || !checked.isCurrent) return checked
  if (isUnfiltered) {
    const wide = planReadings(weights, WIDER_FACTOR)
    const wideTerms = await loadPostings(reader, cache, wide, versions)
    return verify(strongestDocuments(wide, wideTerms, WIDER_FACTOR * FILTERED_MAX))
  }
  const { best, passing } = await readPassing(reader, [...weights.keys()], filters)
  if (passing === null) return verify(parsePgArray(best))
  const among = parsePgArray(passing)
  const wider = planReadings(weights, WIDER_FACTOR)
  const widerTerms = await loadPostings(reader, cache, wider, versions)
  return among.length > PASSING_MAX
    ? verify(strongestDocuments(wider, widerTerms, WIDER_FACTOR * FILTERED_MAX))
    : verify(strongestDocuments(wider, widerTerms, RESULTS_MAX, new Set(among)))
}

interface PassingRow {
  readonly best: string | null
  readonly passing: string | null
}

async function readPassing(
  reader: Reader,
  terms: readonly string[] | null,
  filters: SearchFilters,
): Promise<PassingRow> {
  const values = [terms, RESULTS_MAX, ...filterValues(filters)]
  const { rows } = await reader.query<PassingRow>(SELECT_PASSING, values)
  return rows[0]!
}

function toCandidates({ entries, exact }: CheckedDraft, terms: readonly string[]): Candidate[] {
  const forms = terms.map((term) => [term, tsvectorForm(term)] as const)
  return entries.map((entry) => ({
    ...entry,
    exact: exact.has(entry.doc),
    places: findPlaces(entry.vector, forms),
  }))
}
