import type { AssessedListing } from '../../../core/catalog/listings/cautions.ts'
import { type FieldNames, inputFields } from '../../../core/catalog/listings/input-fields.ts'
import type { JsonObject } from '../../../core/json.ts'
import { dollars } from '../../../core/money.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import { jsonResult } from '../results.ts'
import { type AnyTool, defineTool, READ_ONLY } from '../tool.ts'
import { listSchema } from './schemas.ts'
import { findPage, searchInput } from './search-page.ts'
import { listOf, shorten } from './services.ts'

/** More names are in the schema, which hub_get_service shows. */
const OPTIONAL_MAX = 8

/** `hub_search_external`: external x402 APIs that the hub has verified. */
export const externalSearchTool = (deps: SearchDeps): AnyTool =>
  defineTool({
    name: 'hub_search_external',
    title: 'Search external APIs',
    description:
      'Finds external APIs that charge by x402, best first. Free. Prices are those last seen ' +
      'and may have changed: hub_call_external never pays more than its max_price_usd, and ' +
      'only listings with "payable". hub_get_service shows schemas.',
    annotations: { ...READ_ONLY, openWorldHint: true },
    input: searchInput,
    output: listSchema('listings'),
    run: async (args) => {
      const { hits, next, note } = await findPage(deps, 'external', args)
      const listings = hits.flatMap((hit) =>
        'external' in hit
          ? [{ ...listingItem(hit.external, args.format), why: hit.why.join('; ') }]
          : [],
      )
      return jsonResult({ ...listOf('listings', listings, next), ...(note && { note }) })
    },
  })

/** A listing in short form, or with all figures. */
export function listingItem(
  listing: AssessedListing,
  form: 'concise' | 'detailed' = 'concise',
): JsonObject {
  const { id, url, method, name, category: of, description, price, payable, state } = listing
  const { cautions, uptime, probes, success, payers, paidMs, latencyP50 } = listing
  return {
    id,
    url,
    method,
    name,
    category: of,
    summary: form === 'detailed' ? description : shorten(description),
    price_usd: dollars(price),
    payable,
    ...inputItem(listing),
    ...(state !== 'active' && { state }),
    ...(uptime !== null && { uptime: `${Math.round(uptime)} % of ${probes} probes` }),
    ...(success !== null && {
      delivered: `${Math.round(100 * success)} % over ${payers} payers`,
    }),
    ...(paidMs !== null && { paid_latency_ms: paidMs }),
    ...(listing.priceTrend !== 'stable' && { price_trend: listing.priceTrend }),
    ...(cautions.length > 0 && {
      cautions: cautions.map((each) => `${each.code}: ${each.message}`),
    }),
    ...(form === 'detailed' && {
      provider: listing.provider,
      tags: listing.tags,
      network: listing.network,
      pay_to: listing.payTo,
      probe_latency_ms: latencyP50,
      last_verified_at: listing.lastVerifiedAt?.toISOString() ?? null,
    }),
  }
}

/** Fields of the input; those that the seller requires, else those that it names. */
function inputItem({ inputSchema, method }: AssessedListing): JsonObject {
  const { query, body } = inputFields(inputSchema, method)
  return { ...fieldItem('query', query), ...fieldItem('body', body) }
}

const fieldItem = (part: string, { required, optional }: FieldNames): JsonObject => ({
  ...(required.length > 0 && { [`${part}_required`]: required }),
  ...(optional.length > 0 && { [`${part}_optional`]: optional.slice(0, OPTIONAL_MAX) }),
})
