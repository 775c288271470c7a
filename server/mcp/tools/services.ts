import type { Pool } from 'pg'
import { z } from 'zod'
import {
  listServices,
  type PublishedService,
} from '../../../core/catalog/services/published-services.ts'
import type { JsonObject } from '../../../core/json.ts'
import { dollars } from '../../../core/money.ts'
import * as s from '../../../core/plugin/schema.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { readCursor, toPage } from '../../rest/paging.ts'
import { convertToDollars } from '../dollars.ts'
import { jsonResult } from '../results.ts'
import { asData } from '../third-party.ts'
import { type AnyTool, defineTool, READ_ONLY } from '../tool.ts'
import { category, cursor, format, limit, listSchema } from './schemas.ts'
import { DEFAULT_ROWS, findPage, searchInput } from './search-page.ts'

const SUMMARY_CHARS = 160
/** `pageReply` builds links relative to a URL; a tool has none. */
const PAGE = 'mcp://tool/list'
const After = z.tuple([z.string().max(40)])

/** `hub_search`: finds native services by what they do. */
export const searchTool = (deps: SearchDeps): AnyTool =>
  defineTool({
    name: 'hub_search',
    title: 'Search services',
    description:
      'Finds native services of the hub by what they do, category or price, best first; each hit ' +
      'says why. Free. Use it before hub_call; then hub_get_service shows endpoints, schemas ' +
      'and prices. Example: {"query":"sentiment of reviews","max_price_usd":"0.01"}. For APIs ' +
      'outside the hub use hub_search_external.',
    annotations: READ_ONLY,
    input: searchInput,
    output: listSchema('services'),
    run: async (args) => {
      const { hits, next, note } = await findPage(deps, 'native', args)
      const services = hits.flatMap((hit) =>
        'service' in hit
          ? [{ ...serviceItem(hit.service, args.format), why: hit.why.join('; ') }]
          : [],
      )
      return jsonResult({ ...listOf('services', services, next), ...(note && { note }) })
    },
  })

/** `hub_list_services`: lists native services in pages. */
export const listTool = (pool: Pool): AnyTool =>
  defineTool({
    name: 'hub_list_services',
    title: 'Browse services',
    description:
      'Lists the native services of the hub, page by page, all or of one category. Free. Use ' +
      'hub_search instead when you know what you need; then hub_get_service for details.',
    annotations: READ_ONLY,
    input: s.object({ category, limit, cursor, format }),
    output: listSchema('services'),
    run: async (args) => {
      const { limit: rows = DEFAULT_ROWS, category: of } = args
      const after = readCursor(args.cursor, After)?.[0]
      const found = await listServices(pool, { limit: rows + 1, after, category: of })
      const shown = (row: PublishedService) => serviceItem(row, args.format)
      const { data, next_cursor } = toPage(found, rows, PAGE, ({ slug }) => [slug], shown).body
      return jsonResult(listOf('services', data, next_cursor))
    },
  })

/** Rows with texts of third parties, and the cursor of the next page. */
export const listOf = (
  name: string,
  rows: readonly unknown[],
  next: string | null | undefined,
): JsonObject => ({
  ...asData(convertToDollars({ [name]: rows }) as JsonObject),
  ...(next && { next_cursor: next }),
})

/** A service in short form, or with all details. */
export function serviceItem(
  listing: PublishedService,
  form: 'concise' | 'detailed' = 'concise',
): JsonObject {
  const { slug, name, category: of, summary, minPrice, maxPrice, freeCallsPerMonth } = listing
  return {
    slug,
    name,
    category: of,
    summary: form === 'detailed' ? summary : shorten(summary),
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

export const shorten = (text: string): string =>
  text.length <= SUMMARY_CHARS ? text : `${text.slice(0, SUMMARY_CHARS - 1).trimEnd()}…`
