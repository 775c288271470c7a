import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type Found,
  type Listing,
  listServices,
  searchServices,
} from '../../../core/catalog/listings.ts'
import * as s from '../../../core/schema.ts'
import { page, readCursor } from '../../rest/paging.ts'
import { dollars, inDollars, readDollars } from '../dollars.ts'
import type { Json } from '../message.ts'
import { told } from '../results.ts'
import { type AnyTool, READS, tool } from '../tool.ts'
import { category, cursor, format, limit, list, maxListed, query } from './schemas.ts'

/** Rows of a page unless more are asked for: a model reads all of them. */
const ROWS = 5
const SUMMARY_CHARS = 160
const Offset = z.tuple([z.int().min(0).max(10_000)])
const After = z.tuple([z.string().max(40)])

/** hub_search: native services by what they do. */
export const searchTool = (pool: Pool): AnyTool =>
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
      const offset = readCursor(args.cursor, Offset)?.[0] ?? 0
      const found = await searchServices(pool, {
        query: args.query?.trim() ?? '',
        category: args.category,
        maxPrice: max === undefined ? undefined : readDollars(max),
        limit: rows + 1,
        offset,
      })
      const next = () => [offset + rows]
      return told(paged(found, rows, next, (hit) => ({ ...show(hit, args.format), why: hit.why })))
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
      if (of === undefined) {
        const after = readCursor(args.cursor, After)?.[0]
        const found = await listServices(pool, { limit: rows + 1, after })
        return told(
          paged(
            found,
            rows,
            ({ slug }) => [slug],
            (row) => show(row, args.format),
          ),
        )
      }
      const offset = readCursor(args.cursor, Offset)?.[0] ?? 0
      const order = { query: '', category: of, maxPrice: undefined, limit: rows + 1, offset }
      const found = await searchServices(pool, order)
      return told(
        paged(
          found,
          rows,
          () => [offset + rows],
          (row) => show(row, args.format),
        ),
      )
    },
  })

function paged<Row extends Listing | Found>(
  rows: readonly Row[],
  limit_: number,
  position: (row: Row) => readonly unknown[],
  shown: (row: Row) => Json,
): Json {
  const { data, next_cursor } = page(rows, limit_, 'mcp://tool/list', position, shown).body
  return inDollars({ services: data, next_cursor }) as Json
}

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
