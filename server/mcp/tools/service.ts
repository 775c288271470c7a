import type { Pool } from 'pg'
import { assessListing } from '../../../core/catalog/listings/cautions.ts'
import {
  findService,
  publishedMeter,
  type ServiceEndpoint,
} from '../../../core/catalog/services/published-services.ts'
import type { Clock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { dollars } from '../../../core/money.ts'
import * as s from '../../../core/plugin/schema.ts'
import { LoadingCache } from '../../../core/runtime/cache.ts'
import { convertToDollars } from '../dollars.ts'
import { jsonResult } from '../results.ts'
import { asData } from '../third-party.ts'
import { type AnyTool, defineTool, READ_ONLY, type ToolResult } from '../tool.ts'
import { listingItem } from './external-search.ts'
import { resultSchema, slug } from './schemas.ts'
import { serviceItem } from './services.ts'

/** About 2,000 tokens. */
const RESULT_CHARS_MAX = 7_000

/** Short, because an agent reads the price right before its call. */
const CACHE_MS = 5_000
const CACHE_MAX = 500

interface ServiceToolDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** `hub_get_service`: endpoints, schemas and prices of a service, or a listing. */
export const serviceTool = (deps: ServiceToolDeps): AnyTool => {
  const results = new LoadingCache(
    (key: string) => describeService(deps, ...(JSON.parse(key) as [string, string?])),
    { ttlMs: CACHE_MS, max: CACHE_MAX },
  )
  return defineTool({
    name: 'hub_get_service',
    title: 'Service details',
    description:
      'Shows one native service: endpoints with price, input and output schema. Free. Call it ' +
      'with a slug of hub_search before hub_call. With many endpoints, schemas are omitted: ' +
      'name one as "endpoint", such as "POST /classify", to see its schemas.',
    annotations: READ_ONLY,
    input: s.object({
      slug: slug('Slug, or id of an external API.'),
      endpoint: s.optional(
        s.string({ maxLength: 300, description: 'Only this one: "POST /path" or "/path".' }),
      ),
    }),
    output: resultSchema({
      slug: { type: 'string' },
      endpoints: { type: 'array', items: { type: 'object' } },
    }),
    run: async (args) => {
      const { slug, endpoint } = args
      const key = JSON.stringify(endpoint === undefined ? [slug] : [slug, endpoint])
      return results.get(key) ?? results.load(key)
    },
  })
}

async function describeService(
  deps: ServiceToolDeps,
  name: string,
  endpoint?: string,
): Promise<ToolResult> {
  if (name.startsWith('ext_')) return describeListing(deps, name)
  const found = await findService(deps.pool, name)
  if (!found) throw new Fault('service_not_found', `There is no service "${name}".`)
  const { listing, endpoints } = found
  const chosen = endpoints.filter((each) => matches(each, endpoint))
  if (chosen.length > 0) return jsonResult(fitSchemas(serviceItem(listing, 'detailed'), chosen))
  throw new Fault('not_found', `"${name}" has no ${endpoint ?? 'endpoint'}.`, {
    extras: { endpoints: endpoints.map(routeOf) },
  })
}

/** Describes an external listing, for `hub_call_external`. */
async function describeListing({ pool, clock }: ServiceToolDeps, id: string): Promise<ToolResult> {
  const listing = await assessListing(pool, id, clock.now())
  if (!listing) throw new Fault('listing_not_found')
  const { inputSchema: input, outputSchema: output } = listing
  const item = listingItem(listing, 'detailed')
  const [whole, partial] = [{ input, output }, { input }].map((schemas) =>
    asData(convertToDollars({ ...item, ...schemas }) as JsonObject),
  ) as [JsonObject, JsonObject]
  return jsonResult(JSON.stringify(whole).length <= RESULT_CHARS_MAX ? whole : partial)
}

const routeOf = ({ method, path }: ServiceEndpoint): string => `${method} ${path}`

const matches = (endpoint: ServiceEndpoint, name: string | undefined): boolean =>
  name === undefined || name.trim() === endpoint.path || name.trim() === routeOf(endpoint)

/** Omits output schemas, then input schemas, if the result would be too long for an agent. */
function fitSchemas(service: JsonObject, endpoints: readonly ServiceEndpoint[]): JsonObject {
  const [whole, inputs, bare] = [2, 1, 0].map((schemas) =>
    asData(
      convertToDollars({
        ...service,
        endpoints: endpoints.map((each) => endpointOf(each, schemas)),
      }) as JsonObject,
    ),
  ) as [JsonObject, JsonObject, JsonObject]
  const fits = (value: JsonObject) => JSON.stringify(value).length <= RESULT_CHARS_MAX
  if (endpoints.length === 1 || fits(whole)) return whole
  const next = 'Schemas are omitted. Call hub_get_service again with "endpoint" to see them.'
  return { ...(fits(inputs) ? inputs : bare), next }
}

const endpointOf = (
  endpoint: ServiceEndpoint,
  schemas: number,
  metered = publishedMeter(endpoint),
): JsonObject => ({
  endpoint: routeOf(endpoint),
  summary: endpoint.summary,
  price_usd: dollars(endpoint.price),
  ...(endpoint.computed && { price_is_maximum: true }),
  ...(metered && { metered }),
  ...(!endpoint.tested && { tested: false }),
  ...(schemas > 0 && { input: endpoint.inputSchema }),
  ...(schemas > 1 && endpoint.outputSchema !== null && { output: endpoint.outputSchema }),
})
