import { isJsonObject } from '../../core/json.ts'
import { exampleOf } from '../../core/testing/example.ts'
import { sessionCookieName } from '../rest/authentication.ts'
import { codeTabs } from './code-tabs.ts'
import type { Html } from './html.ts'

/** Call of a hosted service, ready to paste. */
export interface ServiceCall {
  readonly slug: string
  readonly method: string
  /** Path template: `/tides/{harbor}`. */
  readonly path: string
  readonly input: unknown
}

/** Call of an external listing, ready to paste. */
export interface ListingCall {
  readonly url: string
  readonly method: string
  /** Unverified schema of the seller: JSON Schema, or anything. */
  readonly inputSchema: unknown
  /** Maximum price in dollars: `0.05`. */
  readonly price: string
}

/** URLs of the entry points. */
export interface EntryPoints {
  readonly baseUrl: string
  /** Prefix of service calls, such as `https://hub.example/proxy`. */
  readonly proxyUrl: string
  readonly mcpUrl: string
  /** Command that starts the command line. */
  readonly command: string
}

interface FilledCall extends ServiceCall, EntryPoints {
  /** Path with its parameters filled in. */
  readonly address: string
  /** Input without the path parameters. */
  readonly rest: Readonly<Record<string, unknown>>
}

/** The call in five languages; each reads the key from `HUB_API_KEY`. */
export function serviceSnippets(call: ServiceCall, entryPoints: EntryPoints): Html {
  const filled = { ...call, ...entryPoints, ...fillPath(call) }
  const { slug, method, path } = call
  const id = `${slug}-${method}${path}`.replaceAll(/[^\w]+/g, '-').toLowerCase()
  return codeTabs(id, `for ${method} ${path}`, {
    curl: curlSnippet(filled),
    TypeScript: typescriptSnippet(filled),
    Python: pythonSnippet(filled),
    CLI: cliSnippet(filled),
    MCP: mcpSnippet(filled),
  })
}

/** Request of the hub's own API. */
export interface ApiRequest {
  readonly method: string
  readonly path: string
  /** Undefined for public operations. */
  readonly auth: 'key' | 'session' | undefined
  readonly body: unknown
}

/** The request in a shell; names in braces are to be replaced. */
export const apiSnippet = ({ method, path, auth, body }: ApiRequest, baseUrl: string): string =>
  [
    `curl${methodFlag(method, body === undefined ? 'GET' : 'POST')} ${shellQuote(
      `${baseUrl}${path}`,
    )}`,
    ...(auth === 'key' ? [AUTH_HEADER] : auth === 'session' ? [cookieHeader(baseUrl)] : []),
    ...(body === undefined ? [] : [JSON_HEADER, `-d ${shellQuote(formatJson(body))}`]),
  ].join(' \\\n  ')

/** A call of an external listing in five languages, with an example of its input. */
export function listingSnippets(call: ListingCall, entryPoints: EntryPoints): Html {
  const { proxyUrl, mcpUrl, baseUrl, command } = entryPoints
  const request = exampleRequest(call)
  const { url, method, body } = request
  const flag = method === undefined ? '' : ` -X ${method}`
  const data = body === undefined ? '' : ` \\\n  -d ${shellQuote(formatJson(body))}`
  const input = { ...request, max_price_usd: call.price }
  return codeTabs('external', `for ${call.method} ${call.url}`, {
    curl: [
      `curl -i ${shellQuote(`${proxyUrl}/external`)}`,
      AUTH_HEADER,
      JSON_HEADER,
      `-d ${shellQuote(formatJson(request))}`,
    ].join(' \\\n  '),
    TypeScript: `import { HubClient } from 'agenthub/client'

const hub = new HubClient({ baseUrl: '${baseUrl}', apiKey: process.env.HUB_API_KEY })
const { body, charged } = await hub.external(${formatJson(request)})
console.log(body, charged)`,
    Python: pythonRequest(`${proxyUrl}/external`, 'POST', request),
    CLI: `${command} call --hub ${baseUrl}${flag} ${shellQuote(url)}${data}`,
    MCP: toolCallSnippet('hub_call_external', input, mcpUrl),
  })
}

function fillPath({ path, input }: ServiceCall): Pick<FilledCall, 'address' | 'rest'> {
  const rest = { ...((input ?? {}) as Record<string, unknown>) }
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name] ?? name
    delete rest[name]
    return encodeURIComponent(queryValue(value))
  })
  return { address, rest }
}

interface ExternalRequest {
  readonly url: string
  readonly method?: string
  readonly body?: unknown
}

function exampleRequest({ url, method, inputSchema }: ListingCall): ExternalRequest {
  const example = exampleOfPart(inputSchema, method)
  if (method !== 'GET') return { url, method, ...(example && { body: example }) }
  const target = new URL(url)
  for (const [name, value] of Object.entries(example ?? {})) {
    if (!target.searchParams.has(name)) target.searchParams.set(name, queryValue(value))
  }
  return { url: target.href }
}

/** Example of the query (GET) or the body that a seller's schema describes. */
function exampleOfPart(schema: unknown, method: string): object | undefined {
  const { properties } = (schema ?? {}) as { properties?: Record<string, object> }
  if (typeof properties !== 'object') return undefined
  const part = properties[method === 'GET' ? 'queryParams' : 'body'] ?? {
    type: 'object',
    properties,
  }
  const example = exampleOf(part)
  return isJsonObject(example) ? example : undefined
}

/** Characters; longer JSON is pretty-printed. */
const MAX_LINE_LENGTH = 60

const formatJson = (value: unknown): string => {
  const line = JSON.stringify(value)
  return line.length > MAX_LINE_LENGTH ? JSON.stringify(value, null, 2) : line
}

const queryValue = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** Single-quoted word of a POSIX shell. */
const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

const hasQuery = ({ method }: FilledCall): boolean => method === 'GET' || method === 'DELETE'

const queryString = ({ rest }: FilledCall): string => {
  const pairs = Object.entries(rest).map(([name, value]): [string, string] => [
    name,
    queryValue(value),
  ])
  const query = new URLSearchParams(pairs).toString()
  return query === '' ? '' : `?${query}`
}

const methodFlag = (method: string, usual: string): string =>
  method === usual ? '' : ` -X ${method}`

const cookieHeader = (baseUrl: string): string =>
  `-H "Cookie: ${sessionCookieName(baseUrl)}=$HUB_SESSION"`
const AUTH_HEADER = '-H "Authorization: Bearer $HUB_API_KEY"'
const JSON_HEADER = "-H 'Content-Type: application/json'"

const curlSnippet = (call: FilledCall): string => {
  const { slug, address, rest, proxyUrl } = call
  const url = `${proxyUrl}/${slug}${address}`
  const lines = hasQuery(call)
    ? [
        `curl -i${methodFlag(call.method, 'GET')} ${shellQuote(`${url}${queryString(call)}`)}`,
        AUTH_HEADER,
      ]
    : [
        `curl -i${methodFlag(call.method, 'POST')} ${shellQuote(url)}`,
        AUTH_HEADER,
        JSON_HEADER,
        `-d ${shellQuote(formatJson(rest))}`,
      ]
  return lines.join(' \\\n  ')
}

const cliSnippet = (call: FilledCall): string => {
  const { slug, address, rest, baseUrl, command } = call
  const flag = methodFlag(call.method, 'POST')
  const line = `${command} call --hub ${baseUrl}${flag} ${slug}${address}`
  if (!hasQuery(call)) return `${line} \\\n  -d ${shellQuote(formatJson(rest))}`
  const pairs = Object.entries(rest).map(([name, value]) =>
    shellQuote(`${name}=${queryValue(value)}`),
  )
  return [line, ...pairs.map((pair) => `-q ${pair}`)].join(' \\\n  ')
}

const mcpSnippet = ({ slug, method, path, input, mcpUrl }: FilledCall): string =>
  toolCallSnippet('hub_call', { service: slug, endpoint: `${method} ${path}`, input }, mcpUrl)

/** MCP tool call as one stateless HTTP request. */
function toolCallSnippet(name: string, input: object, mcpUrl: string): string {
  const params = { name, arguments: input }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const accept = "-H 'Accept: application/json, text/event-stream'"
  const data = `-d ${shellQuote(JSON.stringify(message, null, 2))}`
  return [`curl ${shellQuote(mcpUrl)}`, AUTH_HEADER, JSON_HEADER, accept, data].join(' \\\n  ')
}

const typescriptSnippet = ({ slug, method, address, rest, baseUrl }: FilledCall): string => {
  const options = method === 'POST' ? '' : `, { method: '${method}' }`
  return `import { HubClient } from 'agenthub/client'

const hub = new HubClient({ baseUrl: '${baseUrl}', apiKey: process.env.HUB_API_KEY })
const { body, charged } = await hub.call('${slug}', '${address}', ${formatJson(rest)}${options})
console.log(body, charged)`
}

const pythonSnippet = (call: FilledCall): string => {
  const { slug, method, address, rest, proxyUrl } = call
  const url = `${proxyUrl}/${slug}${address}`
  return hasQuery(call)
    ? pythonRequest(`${url}${queryString(call)}`, method)
    : pythonRequest(url, method, rest)
}

/** Request with the standard library of Python. */
function pythonRequest(url: string, method: string, body?: unknown): string {
  const hasBody = body !== undefined
  // A JSON text within a JSON text is a string literal of Python, too.
  const data = hasBody ? `\n    data=${JSON.stringify(JSON.stringify(body))}.encode(),` : ''
  const type = hasBody ? `\n        "Content-Type": "application/json",` : ''
  return `import os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    method="${method}",${data}
    headers={
        "Authorization": f"Bearer {os.environ['HUB_API_KEY']}",${type}
    },
)
print(urllib.request.urlopen(request).read().decode())`
}
