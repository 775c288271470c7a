import type { ListingSummary } from '../../../core/catalog/search/hits.ts'
import type { JsonObject } from '../../../core/json.ts'
import { dollars } from '../../../core/money.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { jsonResult } from '../results.ts'
import { type AnyTool, defineTool, READ_ONLY } from '../tool.ts'
import { listSchema } from './schemas.ts'
import { findPage, searchInput } from './search-page.ts'
import { listOf, shorten } from './services.ts'

/** `hub_search_external`: external x402 APIs that the hub has verified. */
export const externalSearchTool = (deps: SearchDeps): AnyTool =>
  defineTool({
    name: 'hub_search_external',
    title: 'Search external APIs',
    description:
      'Finds APIs outside the hub that charge by x402, best first. Free. Prices are as last ' +
      'seen and may have changed: hub_call_external never pays more than its max_price_usd, and ' +
      'only listings with "payable". For APIs of the hub itself use hub_search.',
    annotations: { ...READ_ONLY, openWorldHint: true },
    input: searchInput,
    output: listSchema('listings'),
    run: async (args) => {
      const { hits, next } = await findPage(deps, 'external', args)
      const listings = hits.flatMap((hit) =>
        'external' in hit
          ? [{ ...listingItem(hit.external, args.format), why: hit.why.join('; ') }]
          : [],
      )
      return jsonResult(listOf('listings', listings, next))
    },
  })

function listingItem(
  listing: ListingSummary,
  form: 'concise' | 'detailed' = 'concise',
): JsonObject {
  const { url, method, name, category: of, summary, price, payable, state } = listing
  return {
    url,
    method,
    name,
    category: of,
    summary: form === 'detailed' ? summary : shorten(summary),
    price_usd: dollars(price),
    payable,
    ...(state !== 'active' && { state }),
    ...(form === 'detailed' && {
      id: listing.id,
      provider: listing.provider,
      tags: listing.tags,
      network: listing.network,
      uptime_percentage: listing.uptimePercentage,
      latency_ms: listing.latencyMs,
      last_verified_at: listing.lastVerifiedAt.toISOString(),
    }),
  }
}
