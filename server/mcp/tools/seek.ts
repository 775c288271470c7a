import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import * as s from '../../../core/plugin/schema.ts'
import type { SearchPorts } from '../../rest/catalog/search.ts'
import { readPosition, writePosition } from '../../rest/catalog/search-position.ts'
import { readDollars } from '../dollars.ts'
import { category, cursor, format, limit, maxListed, query } from './schemas.ts'

/** Rows of a page unless more are asked for: a model reads all of them. */
export const ROWS = 5

/** What both searches ask for. */
export const sought = s.object({ query, category, max_price_usd: maxListed, limit, cursor, format })
type Sought = s.Infer<typeof sought>

/** A page of hits of one kind, and where the next one begins. */
export async function seek(
  { pool, clock, meaning }: SearchPorts,
  type: 'native' | 'external',
  args: Sought,
) {
  const { limit: rows = ROWS, max_price_usd: max } = args
  const { hits, next } = await search(
    pool,
    clock,
    {
      query: args.query ?? '',
      type,
      category: args.category,
      maxPrice: max === undefined ? undefined : readDollars(max),
      limit: rows,
      after: readPosition(args.cursor),
    },
    meaning,
  )
  return { hits: await readHits(pool, hits), next: writePosition(next) }
}
