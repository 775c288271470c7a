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

/** Finds a page of hits of one type, and the cursor of the next page. */
export async function findPage(
  { pool, clock, semanticRanker }: SearchDeps,
  type: 'native' | 'external',
  args: SearchInput,
) {
  const { limit: rows = DEFAULT_ROWS, max_price_usd: max } = args
  const { hits, next } = await search(
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
  return { hits: await readHits(pool, hits), next: writeSearchCursor(next) }
}
