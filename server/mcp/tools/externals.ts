import { type ExternalHit, readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import * as s from '../../../core/schema.ts'
import { readPosition, writePosition } from '../../rest/search-position.ts'
import { dollars, inDollars, readDollars } from '../dollars.ts'
import type { Json } from '../message.ts'
import { told } from '../results.ts'
import { type AnyTool, READS, tool } from '../tool.ts'
import { category, cursor, format, limit, list, maxListed, query } from './schemas.ts'
import { ROWS, type SearchPorts, shortened } from './services.ts'

/** hub_search_external: what others sell for x402, as the hub has seen it. */
export const externalsTool = ({ pool, clock }: SearchPorts): AnyTool =>
  tool({
    name: 'hub_search_external',
    title: 'Search external APIs',
    description:
      'Finds APIs outside the hub that ask for payment by x402, best first. Free. Prices are as ' +
      'last seen, and a seller may ask another one: hub_call_external pays none above its ' +
      'max_price_usd. Only listings with "payable" can be paid through the hub. For APIs of the ' +
      'hub itself use hub_search.',
    annotations: { ...READS, openWorldHint: true },
    input: s.object({ query, category, max_price_usd: maxListed, limit, cursor, format }),
    output: list('listings'),
    run: async (args) => {
      const { limit: rows = ROWS, max_price_usd: max } = args
      const { hits, next } = await search(pool, clock, {
        query: args.query ?? '',
        type: 'external',
        category: args.category,
        maxPrice: max === undefined ? undefined : readDollars(max),
        limit: rows,
        after: readPosition(args.cursor),
      })
      const listings = (await readHits(pool, hits)).flatMap((hit) =>
        'external' in hit ? [{ ...show(hit.external, args.format), why: hit.why.join('; ') }] : [],
      )
      return told(inDollars({ listings, next_cursor: writePosition(next) }) as Json)
    },
  })

function show(listing: ExternalHit, form: 'concise' | 'detailed' = 'concise'): Json {
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
