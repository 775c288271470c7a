import { isJsonObject } from '../../core/json.ts'
import { exampleOf } from '../../core/testing/example.ts'
import type { Html } from './html.ts'
import { type Doors, JSON_TYPE, KEY, plain, quoted, toolCall, waysOf, written } from './snippets.ts'

/** What somebody else sells, as far as it matters to call it. */
export interface Sold {
  readonly url: string
  readonly method: string
  /** What its seller says of it: JSON Schema, or anything. */
  readonly inputSchema: unknown
  /** Microdollars, as text of dollars: the most that is paid. */
  readonly price: string
}

interface Request {
  readonly url: string
  readonly method?: string
  readonly body?: unknown
}

/** A call to an API of somebody else by four ways; each expects a key in `HUB_API_KEY`. */
export function externalSnippets(sold: Sold, doors: Doors): Html {
  const { proxyUrl, mcpUrl, baseUrl } = doors
  const request = requestOf(sold)
  const { url, method, body } = request
  const verb = method === undefined ? '' : ` -X ${method}`
  const data = body === undefined ? '' : ` \\\n  -d ${quoted(written(body))}`
  const order = { ...request, max_price_usd: sold.price }
  return waysOf(`for ${sold.method} ${sold.url}`, {
    curl: [
      `curl -i ${quoted(`${proxyUrl}/external`)}`,
      KEY,
      JSON_TYPE,
      `-d ${quoted(written(request))}`,
    ].join(' \\\n  '),
    'Command line': `npx agenthub call --hub ${baseUrl}${verb} ${quoted(url)}${data}`,
    'MCP, by curl': toolCall('hub_call_external', order, mcpUrl),
    TypeScript: `import { HubClient } from 'agenthub/client'

const hub = new HubClient({ baseUrl: '${baseUrl}', apiKey: process.env.HUB_API_KEY })
const { body, charged } = await hub.external(${written(request)})
console.log(body, charged)`,
  })
}

function requestOf({ url, method, inputSchema }: Sold): Request {
  const example = exampleFor(inputSchema, method)
  if (method !== 'GET') return { url, method, ...(example && { body: example }) }
  const asked = new URL(url)
  for (const [name, value] of Object.entries(example ?? {})) {
    if (!asked.searchParams.has(name)) asked.searchParams.set(name, plain(value))
  }
  return { url: asked.href }
}

/** An example of what a seller describes as JSON Schema, of the query or of the body. */
function exampleFor(schema: unknown, method: string): object | undefined {
  const { properties } = (schema ?? {}) as { properties?: Record<string, object> }
  if (typeof properties !== 'object') return undefined
  const part = properties[method === 'GET' ? 'queryParams' : 'body'] ?? {
    type: 'object',
    properties,
  }
  const example = exampleOf(part)
  return isJsonObject(example) ? example : undefined
}
