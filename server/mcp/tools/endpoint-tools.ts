import type { Catalog, Offering } from '../../../core/catalog/services/catalog.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { dollars, type Micros } from '../../../core/money.ts'
import { memoizeByObject } from '../../../core/runtime/cache.ts'
import type { CallDeps } from '../../proxy/call-deps.ts'
import { acceptsX402, saleTermsOf } from '../../proxy/payment-required.ts'
import { makePaidCall } from '../paid-call.ts'
import { type AnyTool, defineTool, SPENDING } from '../tool.ts'
import { idempotencyKey, PAID_RESULT } from './schemas.ts'

export interface EndpointToolDeps {
  readonly callDeps: CallDeps
  readonly catalog: Pick<Catalog, 'find'>
}

const SERVICES_MAX = 20
const NAME_CHARS_MAX = 60

/** Returns the tools of the endpoints with fixed prices of services. @throws Fault */
export type FindEndpointTools = (slugs: readonly string[]) => Promise<readonly AnyTool[]>

/** Tools for `/mcp?services=…`: one per endpoint, which says its price and how x402 pays it. */
export function endpointTools(deps: EndpointToolDeps): FindEndpointTools {
  const toolOf = memoizeByObject((offering: Offering) => createTool(deps, offering))
  return async (slugs) => {
    if (slugs.length > SERVICES_MAX) {
      throw new Fault('validation_failed', `"services" names at most ${SERVICES_MAX} services.`)
    }
    const found = await Promise.all([...new Set(slugs)].map((slug) => findOfferings(deps, slug)))
    const tools = found.flat().filter(hasFixedPrice).map(toolOf)
    return [...new Map(tools.map((tool) => [tool.name, tool])).values()]
  }
}

async function findOfferings({ catalog }: EndpointToolDeps, slug: string) {
  const routes = await catalog.find(slug)
  if (!routes) throw new Fault('service_not_found', `There is no service "${slug}".`)
  return [...routes.values()]
}

const hasFixedPrice = ({ endpoint }: Offering): boolean => typeof endpoint.price === 'bigint'

const createTool = (deps: EndpointToolDeps, offering: Offering): AnyTool => {
  const { service, endpoint, method, path } = offering
  const { slug } = service
  const name = nameOf(offering)
  const price = endpoint.price as bigint
  return defineTool<JsonObject>({
    name,
    title: `${service.name}: ${endpoint.summary}`,
    description: `${endpoint.summary} Costs ${dollars(price)} USD: free calls first, then credits.`,
    annotations: SPENDING,
    input: { json: withIdempotencyKey(endpoint.input.json) },
    output: PAID_RESULT,
    meta: () => x402MetaOf(deps.callDeps, offering, `mcp://tool/${name}`),
    run: ({ idempotency_key: key, ...input }, context) => {
      const target = {
        tool: name,
        slug,
        method,
        path, // a template, whose parameters are members of the input
        ...(method === 'GET' || method === 'DELETE' ? { query: input } : { body: input }),
        ...(typeof key === 'string' && { idempotency_key: key }),
      }
      return makePaidCall(deps.callDeps, target, context)
    },
  })
}

/** `analysis_extract-entities`; other methods than POST are part of the name. */
const nameOf = ({ service, method, path }: Offering): string =>
  [service.slug, ...path.split('/').filter(Boolean), ...(method === 'POST' ? [] : [method])]
    .join('_')
    .slice(0, NAME_CHARS_MAX)
    .replaceAll(/[^\w-]/g, '')

const withIdempotencyKey = (input: JsonObject): JsonObject => ({
  ...input,
  type: 'object',
  properties: { idempotency_key: idempotencyKey.json, ...(input['properties'] as JsonObject) },
})

/** Terms by which clients of x402 pay a tool without asking first; undefined if it cannot. */
function x402MetaOf(deps: CallDeps, offering: Offering, url: string): JsonObject | undefined {
  const price = offering.endpoint.price as Micros
  const { slug } = offering.service
  const sale = { offering, price, metered: undefined, request: { slug, url: () => url } }
  if (price === 0n || !acceptsX402(deps, sale)) return undefined
  const terms = saleTermsOf(deps, sale)
  return { x402: { paymentRequired: true, ...deps.offers.requirements(terms) } }
}
