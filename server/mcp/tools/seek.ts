import type { Pool } from 'pg'
import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import type { Clock } from '../../../core/clock.ts'
import * as s from '../../../core/schema.ts'
import { readPosition, writePosition } from '../../rest/search-position.ts'
import { readDollars } from '../dollars.ts'
import { category, cursor, format, limit, maxListed, query } from './schemas.ts'

/** Rows of a page unless more are asked for: a model reads all of them. */
export const ROWS = 5

/** What searches ask; ranking knows the day. */
export interface SearchPorts {
  readonly pool: Pool
  readonly clock: Clock
}

/** What both searches ask for. */
export const sought = s.object({ query, category, max_price_usd: maxListed, limit, cursor, format })
type Sought = s.Infer<typeof sought>

/** A page of hits of one kind, and where the next one begins. */
export async function seek(
  { pool, clock }: SearchPorts,
  type: 'native' | 'external',
  args: Sought,
) {
  const { limit: rows = ROWS, max_price_usd: max } = args
  const { hits, next } = await search(pool, clock, {
    query: args.query ?? '',
    type,
    category: args.category,
    maxPrice: max === undefined ? undefined : readDollars(max),
    limit: rows,
    after: readPosition(args.cursor),
  })
  return { hits: await readHits(pool, hits), next: writePosition(next) }
}
