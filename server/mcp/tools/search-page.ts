import { assertKnownCategory } from '../../../core/catalog/search/categories.ts'
import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import * as s from '../../../core/plugin/schema.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { readSearchCursor, writeSearchCursor } from '../../rest/catalog/search-cursor.ts'
import { parseDollars } from '../dollars.ts'
import { category, cursor, format, limit, maxListedPrice, query } from './schemas.ts'

/** Default rows of a page. Few, because a model reads all of them. */
export const DEFAULT_ROWS = 5

export const searchInput = s.object({
  query,
  category,
  max_price_usd: maxListedPrice,
  limit,
  cursor,
  format,
})
type SearchInput = s.Infer<typeof searchInput>

const NOTHING = {
  native: 'No native service fits. Try hub_search_external.',
  external: 'Nothing fits.',
} as const
const UNSURE = {
  native: 'low_confidence: perhaps none of these fits. Try hub_search_external.',
  external: 'low_confidence: perhaps none of these fits.',
} as const

/** Finds a page of hits of one type, and the cursor of the next page. */
export async function findPage(
  { pool, clock, semanticRanker }: SearchDeps,
  type: 'native' | 'external',
  args: SearchInput,
) {
  const { limit: rows = DEFAULT_ROWS, max_price_usd: max } = args
  const { hits, next, lowConfidence } = await search(
    pool,
    clock,
    {
      query: args.query ?? '',
      type,
      category: args.category,
      maxPrice: max === undefined ? undefined : parseDollars(max),
      limit: rows,
      after: readSearchCursor(args.cursor),
    },
    semanticRanker,
  )
  if (hits.length === 0) await assertKnownCategory(pool, args.category)
  const note = hits.length === 0 ? NOTHING[type] : lowConfidence ? UNSURE[type] : undefined
  const read = await readHits(pool, hits, clock.now())
  return { hits: read, next: writeSearchCursor(next), note }
}
