import type { Pool } from 'pg'
import {
  findService,
  type ListedEndpoint,
} from '../../../core/catalog/services/published-services.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import * as s from '../../../core/plugin/schema.ts'
import { dollars, inDollars } from '../dollars.ts'
import { Recent } from '../recent.ts'
import { told } from '../results.ts'
import { type AnyTool, READS, type ToolResult, tool } from '../tool.ts'
import { open, slug } from './schemas.ts'
import { show } from './services.ts'

/** About 2,000 tokens. */
const CHARS_MAX = 7_000

/** Agents look at a service right before they call it; its price counts as it is then. */
const RECENT_MS = 5_000
const RECENT_MOST = 500

/** hub_get_service: everything one needs to know to call a service. */
export const serviceTool = (pool: Pool): AnyTool => {
  const recent = new Recent<ToolResult>(RECENT_MS, RECENT_MOST)
  return tool({
    name: 'hub_get_service',
    title: 'Service details',
    description:
      'Shows one native service: endpoints with price, input and output schema. Free. Call it ' +
      'with a slug of hub_search before hub_call. Of many endpoints the schemas are left out: ' +
      'name one as "endpoint", such as "POST /classify", to see its own.',
    annotations: READS,
    input: s.object({
      slug: slug('Of the service, as in hub_search.'),
      endpoint: s.optional(
        s.string({ maxLength: 300, description: 'Only this one: "POST /path" or "/path".' }),
      ),
    }),
    output: open({
      slug: { type: 'string' },
      endpoints: { type: 'array', items: { type: 'object' } },
    }),
    run: (args) => {
      const key = JSON.stringify([args.slug, args.endpoint])
      return recent.get(key, () => look(pool, args.slug, args.endpoint))
    },
  })
}

async function look(pool: Pool, name: string, endpoint: string | undefined): Promise<ToolResult> {
  const found = await findService(pool, name)
  if (!found) throw new Fault('service_not_found', `There is no service "${name}".`)
  const { listing, endpoints } = found
  const chosen = endpoints.filter((each) => isNamed(each, endpoint))
  if (chosen.length > 0) return told(fitting(show(listing, 'detailed'), chosen))
  throw new Fault('not_found', `"${name}" has no ${endpoint ?? 'endpoint'}.`, {
    extras: { endpoints: endpoints.map(routeOf) },
  })
}

const routeOf = ({ method, path }: ListedEndpoint): string => `${method} ${path}`

const isNamed = (endpoint: ListedEndpoint, name: string | undefined): boolean =>
  name === undefined || name.trim() === endpoint.path || name.trim() === routeOf(endpoint)

/** With as much of the schemas as an agent reads with ease; of a single endpoint, all. */
function fitting(service: JsonObject, endpoints: readonly ListedEndpoint[]): JsonObject {
  const [whole, inputs, bare] = [2, 1, 0].map((schemas) =>
    inDollars({ ...service, endpoints: endpoints.map((each) => endpointOf(each, schemas)) }),
  ) as [JsonObject, JsonObject, JsonObject]
  const fits = (value: JsonObject) => JSON.stringify(value).length <= CHARS_MAX
  if (endpoints.length === 1 || fits(whole)) return whole
  const next = 'Schemas are left out: call hub_get_service again with "endpoint" to see them.'
  return { ...(fits(inputs) ? inputs : bare), next }
}

const endpointOf = (endpoint: ListedEndpoint, schemas: number): JsonObject => ({
  endpoint: routeOf(endpoint),
  summary: endpoint.summary,
  price_usd: dollars(endpoint.price),
  ...(endpoint.computed && { price_is_maximum: true }),
  ...(schemas > 0 && { input: endpoint.inputSchema }),
  ...(schemas > 1 && endpoint.outputSchema !== null && { output: endpoint.outputSchema }),
})
