import { type Clock, dayStart } from '../../clock.ts'
import { findCandidates } from './candidates.ts'
import type { Meaning } from './meaning/meaning.ts'
import { readQuery } from './query.ts'
import { explain, type Ranked, rank, type Scored } from './rank.ts'
import type { Filters, Reader } from './store.ts'
import { squashed } from './words.ts'

export interface SearchOrder extends Filters {
  /** Words; empty for everything. */
  readonly query: string
  readonly limit: number
  readonly after?: Position | undefined
}

/** Where a page ended. Later pages are ranked for the day of the first one. */
export interface Position {
  /** Milliseconds since 1970 of a UTC day. */
  readonly day: number
  readonly rank: number
  /** Kind and id of the last hit: what came to the list above it is not shown again. */
  readonly last: string
}

export interface SearchPage {
  readonly hits: readonly Ranked[]
  /** Where to go on; undefined when there is nothing more. */
  readonly next: Position | undefined
}

/**
 * Searches services and listings: those named so exactly first, then by the words of the query,
 * words for the same things and words spelt alike, weighed with what is known of how well each
 * works, what it costs and how lately it was seen. The best 100 can be paged through.
 * With `meaning`, what was found so is ranked by how like the query it is, too. In a transaction
 * that is under way, what it has written is found too.
 */
export async function search(
  reader: Reader,
  clock: Clock,
  order: SearchOrder,
  meaning?: Meaning,
): Promise<SearchPage> {
  const { query, limit, after, type, category, tag, network } = order
  const day = after ? new Date(after.day) : dayStart(clock.now())
  const asked = readQuery(query)
  const limits = [order.maxPrice, asked.maxPrice].filter((price) => price !== undefined)
  const maxPrice = limits.toSorted((a, b) => (a < b ? -1 : 1))[0]
  const vectorSoon = meaning?.of(query)
  const name = squashed(query)
  const isEmpty = query.trim() === '' || (asked.spans.length === 0 && asked.maxPrice !== undefined)
  const filters = { type, category, tag, network, maxPrice }
  const { terms, candidates } = await findCandidates(reader, {
    query: asked,
    name,
    filters,
    isEmpty,
  })
  const vector = await vectorSoon
  const like = vector && (await meaning!.compare(vector, candidates))
  const ranked = rank(candidates, { text: query, terms, wishes: asked.wishes, day, like })
  return pageOf(ranked, limit, after, day)
}

const keyOf = ({ candidate }: Pick<Scored, 'candidate'>): string =>
  `${candidate.kind} ${candidate.id}`

function pageOf(
  ranked: readonly Scored[],
  limit: number,
  after: Position | undefined,
  day: Date,
): SearchPage {
  const last = after ? ranked.findIndex((hit) => keyOf(hit) === after.last) : -1
  const start = last >= 0 ? last + 1 : (after?.rank ?? 0)
  const hits = ranked.slice(start, start + limit).map(explain)
  const end = start + hits.length
  if (hits.length === 0 || end >= ranked.length) return { hits, next: undefined }
  return { hits, next: { day: day.getTime(), rank: end, last: keyOf(hits.at(-1)!) } }
}
