import { type Html, html } from './html.ts'

/** A request that may be pasted as it is. */
export interface Sample {
  readonly slug: string
  readonly method: string
  /** As it is declared: `/tides/{harbour}`. */
  readonly path: string
  readonly input: unknown
}

/** Where it is sent. */
export interface Doors {
  readonly baseUrl: string
  /** Where services are called, such as `https://hub.example/proxy`. */
  readonly proxyUrl: string
  readonly mcpUrl: string
}

interface Order extends Sample, Doors {
  /** The path with what belongs into it, and the input that is left. */
  readonly address: string
  readonly rest: Readonly<Record<string, unknown>>
}

/** The same call by four ways; each expects a key in `HUB_API_KEY`. */
export function snippets(sample: Sample, doors: Doors): Html {
  const order = { ...sample, ...doors, ...addressOf(sample) }
  return waysOf(`for ${sample.method} ${sample.path}`, {
    curl: curl(order),
    'Command line': cli(order),
    'MCP, by curl': mcp(order),
    TypeScript: typescript(order),
  })
}

/**
 * Texts to paste, the first one open.
 * @param about which call they are, for those who hear the buttons
 */
export const waysOf = (about: string, ways: Readonly<Record<string, string>>): Html =>
  html`${Object.entries(ways).map(
    ([name, text], i) =>
      html`<details${i === 0 && html` open`}><summary>${name}</summary>${copied(
        text,
        `Copy: ${name} ${about}`,
      )}</details>`,
  )}`

/** A text to paste, with a button that copies it where there are scripts. */
export const copied = (text: string, label: string): Html =>
  html`<div class="snippet"><pre tabindex="0"><code>${text}</code></pre>
<button type="button" class="plain" data-copy aria-label="${label}" hidden>Copy</button></div>`

function addressOf({ path, input }: Sample): Pick<Order, 'address' | 'rest'> {
  const rest = { ...((input ?? {}) as Record<string, unknown>) }
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name] ?? name
    delete rest[name]
    return encodeURIComponent(plain(value))
  })
  return { address, rest }
}

/** Longer ones are easier to read, and to change, line by line. */
const LINE = 60

export const written = (value: unknown): string => {
  const line = JSON.stringify(value)
  return line.length > LINE ? JSON.stringify(value, null, 2) : line
}

/** As it stands in an address. */
export const plain = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** Within single quotes of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

const isQuery = ({ method }: Order): boolean => method === 'GET' || method === 'DELETE'

const search = ({ rest }: Order): string => {
  const pairs = Object.entries(rest).map(([name, value]): [string, string] => [name, plain(value)])
  const query = new URLSearchParams(pairs).toString()
  return query === '' ? '' : `?${query}`
}

const verb = ({ method }: Order, usual: string): string => (method === usual ? '' : ` -X ${method}`)

export const KEY = '-H "Authorization: Bearer $HUB_API_KEY"'
export const JSON_TYPE = "-H 'Content-Type: application/json'"

const curl = (order: Order): string => {
  const { slug, address, rest, proxyUrl } = order
  const url = `${proxyUrl}/${slug}${address}`
  const lines = isQuery(order)
    ? [`curl -i${verb(order, 'GET')} ${quoted(`${url}${search(order)}`)}`, KEY]
    : [
        `curl -i${verb(order, 'POST')} ${quoted(url)}`,
        KEY,
        JSON_TYPE,
        `-d ${quoted(written(rest))}`,
      ]
  return lines.join(' \\\n  ')
}

const cli = (order: Order): string => {
  const { slug, address, rest, baseUrl } = order
  const call = `npx agenthub call --hub ${baseUrl}${verb(order, 'POST')} ${slug}${address}`
  if (!isQuery(order)) return `${call} \\\n  -d ${quoted(written(rest))}`
  const pairs = Object.entries(rest).map(([name, value]) => quoted(`${name}=${plain(value)}`))
  return [call, ...pairs.map((pair) => `-q ${pair}`)].join(' \\\n  ')
}

const mcp = ({ slug, method, path, input, mcpUrl }: Order): string =>
  toolCall('hub_call', { service: slug, endpoint: `${method} ${path}`, input }, mcpUrl)

/** What an assistant sends, as one request. */
export function toolCall(name: string, input: object, mcpUrl: string): string {
  const params = { name, arguments: input }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const accept = "-H 'Accept: application/json, text/event-stream'"
  const data = `-d ${quoted(JSON.stringify(message, null, 2))}`
  return [`curl ${quoted(mcpUrl)}`, KEY, JSON_TYPE, accept, data].join(' \\\n  ')
}

const typescript = ({ slug, method, address, rest, baseUrl }: Order): string => {
  const how = method === 'POST' ? '' : `, { method: '${method}' }`
  return `import { HubClient } from 'agenthub/client'

const hub = new HubClient({ baseUrl: '${baseUrl}', apiKey: process.env.HUB_API_KEY })
const { body, charged } = await hub.call('${slug}', '${address}', ${written(rest)}${how})
console.log(body, charged)`
}
