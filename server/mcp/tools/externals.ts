import type { ExternalHit } from '../../../core/catalog/search/hits.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { SearchPorts } from '../../rest/catalog/search.ts'
import { dollars, inDollars } from '../dollars.ts'
import { told } from '../results.ts'
import { type AnyTool, READS, tool } from '../tool.ts'
import { list } from './schemas.ts'
import { seek, sought } from './seek.ts'
import { shortened } from './services.ts'

/** hub_search_external: what others sell for x402, as the hub has seen it. */
export const externalsTool = (ports: SearchPorts): AnyTool =>
  tool({
    name: 'hub_search_external',
    title: 'Search external APIs',
    description:
      'Finds APIs outside the hub that ask for payment by x402, best first. Free. Prices are as ' +
      'last seen and may have changed: hub_call_external pays none above its max_price_usd, and ' +
      'only listings with "payable". For APIs of the hub itself use hub_search.',
    annotations: { ...READS, openWorldHint: true },
    input: sought,
    output: list('listings'),
    run: async (args) => {
      const { hits, next } = await seek(ports, 'external', args)
      const listings = hits.flatMap((hit) =>
        'external' in hit ? [{ ...show(hit.external, args.format), why: hit.why.join('; ') }] : [],
      )
      return told(inDollars({ listings, next_cursor: next }) as JsonObject)
    },
  })

function show(listing: ExternalHit, form: 'concise' | 'detailed' = 'concise'): JsonObject {
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
