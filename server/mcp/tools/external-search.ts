import type { ListingSummary } from '../../../core/catalog/search/hits.ts'
import type { JsonObject } from '../../../core/json.ts'
import { dollars } from '../../../core/money.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { convertToDollars } from '../dollars.ts'
import { jsonResult } from '../results.ts'
import { type AnyTool, defineTool, READ_ONLY } from '../tool.ts'
import { list } from './schemas.ts'
import { findPage, searchInput } from './search-page.ts'
import { shortened } from './services.ts'

/** hub_search_external: what others sell for x402, as the hub has seen it. */
export const externalsTool = (deps: SearchDeps): AnyTool =>
  defineTool({
    name: 'hub_search_external',
    title: 'Search external APIs',
    description:
      'Finds APIs outside the hub that ask for payment by x402, best first. Free. Prices are as ' +
      'last seen and may have changed: hub_call_external pays none above its max_price_usd, and ' +
      'only listings with "payable". For APIs of the hub itself use hub_search.',
    annotations: { ...READ_ONLY, openWorldHint: true },
    input: searchInput,
    output: list('listings'),
    run: async (args) => {
      const { hits, next } = await findPage(deps, 'external', args)
      const listings = hits.flatMap((hit) =>
        'external' in hit ? [{ ...show(hit.external, args.format), why: hit.why.join('; ') }] : [],
      )
      return jsonResult(convertToDollars({ listings, next_cursor: next }) as JsonObject)
    },
  })

function show(listing: ListingSummary, form: 'concise' | 'detailed' = 'concise'): JsonObject {
  const { url, method, name, category: of, summary, price, payable, state } = listing
  return {
    url,
    method,
    name,
    category: of,
    summary: form === 'detailed' ? summary : shortened(summary),
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
