import type { Pool } from 'pg'
import { z } from 'zod'
import { type Listing, listServices } from '../../../core/catalog/listings.ts'
import { readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import type { Clock } from '../../../core/clock.ts'
import * as s from '../../../core/schema.ts'
import { page, readCursor } from '../../rest/paging.ts'
import { readPosition, writePosition } from '../../rest/search-position.ts'
import { dollars, inDollars, readDollars } from '../dollars.ts'
import type { Json } from '../message.ts'
import { told } from '../results.ts'
import { type AnyTool, READS, tool } from '../tool.ts'
import { category, cursor, format, limit, list, maxListed, query } from './schemas.ts'

/** Rows of a page unless more are asked for: a model reads all of them. */
export const ROWS = 5
const SUMMARY_CHARS = 160
/** Pages need an address to be linked from; a tool has none. */
const PAGE = 'mcp://tool/list'
const After = z.tuple([z.string().max(40)])

/** What searches ask; ranking knows the day. */
export interface SearchPorts {
  readonly pool: Pool
  readonly clock: Clock
}

/** hub_search: native services by what they do. */
export const searchTool = ({ pool, clock }: SearchPorts): AnyTool =>
  tool({
    name: 'hub_search',
    title: 'Search services',
    description:
      'Finds native APIs of the hub by what they do, by category or by price, best first; every ' +
      'hit says why. Free. Use it before hub_call; then hub_get_service shows endpoints, schemas ' +
      'and prices. Example: {"query":"sentiment of reviews","max_price_usd":"0.01"}. For APIs ' +
      'outside the hub use hub_search_external.',
    annotations: READS,
    input: s.object({ query, category, max_price_usd: maxListed, limit, cursor, format }),
    output: list('services'),
    run: async (args) => {
      const { limit: rows = ROWS, max_price_usd: max } = args
      const { hits, next } = await search(pool, clock, {
        query: args.query ?? '',
        type: 'native',
        category: args.category,
        maxPrice: max === undefined ? undefined : readDollars(max),
        limit: rows,
        after: readPosition(args.cursor),
      })
      const found = await readHits(pool, hits)
      const services = found.flatMap((hit) =>
        'service' in hit ? [{ ...show(hit.service, args.format), why: hit.why.join('; ') }] : [],
      )
      return told(inDollars({ services, next_cursor: writePosition(next) }) as Json)
    },
  })

/** hub_list_services: native services, one after the other. */
export const listTool = (pool: Pool): AnyTool =>
  tool({
    name: 'hub_list_services',
    title: 'Browse services',
    description:
      'Lists the native services of the hub, page by page, all or of one category. Free. Use ' +
      'hub_search instead when you know what you need; then hub_get_service for details.',
    annotations: READS,
    input: s.object({ category, limit, cursor, format }),
    output: list('services'),
    run: async (args) => {
      const { limit: rows = ROWS, category: of } = args
      const after = readCursor(args.cursor, After)?.[0]
      const found = await listServices(pool, { limit: rows + 1, after, category: of })
      const shown = (row: Listing) => show(row, args.format)
      const { data, next_cursor } = page(found, rows, PAGE, ({ slug }) => [slug], shown).body
      return told(inDollars({ services: data, next_cursor }) as Json)
    },
  })

/** A service in as few words as will do, or with all its figures. */
export function show(listing: Listing, form: 'concise' | 'detailed' = 'concise'): Json {
  const { slug, name, category: of, summary, minPrice, maxPrice, freeCallsPerMonth } = listing
  return {
    slug,
    name,
    category: of,
    summary: form === 'detailed' ? summary : shortened(summary),
    price_from_usd: dollars(minPrice),
    ...(maxPrice > minPrice && { price_to_usd: dollars(maxPrice) }),
    ...(freeCallsPerMonth > 0 && { free_calls_per_month: freeCallsPerMonth }),
    ...(form === 'detailed' && {
      provider: listing.provider,
      endpoint_count: listing.endpointCount,
      uptime_percentage: listing.uptimePercentage,
      average_latency_ms: listing.averageLatencyMs,
    }),
  }
}

export const shortened = (text: string): string =>
  text.length <= SUMMARY_CHARS ? text : `${text.slice(0, SUMMARY_CHARS - 1).trimEnd()}…`
