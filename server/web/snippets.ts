import { type Html, html } from './html.ts'

/** A request that may be pasted as it is. */
export interface Sample {
  readonly slug: string
  readonly method: string
  readonly path: string
  readonly input: unknown
  /** Where services are called, such as `https://hub.example/proxy`. */
  readonly proxyUrl: string
  readonly baseUrl: string
}

/** The same call by four ways. */
export const snippets = (sample: Sample): Html =>
  html`${(
    [
      ['curl', curl(sample)],
      ['Command line', cli(sample)],
      ['MCP', mcp(sample)],
      ['TypeScript', typescript(sample)],
    ] as const
  ).map(
    ([name, text], i) =>
      html`<details${i === 0 && html` open`}><summary>${name}</summary>
<pre tabindex="0"><code>${text}</code></pre></details>`,
  )}`

const isQuery = ({ method }: Sample): boolean => method === 'GET' || method === 'DELETE'

const search = (input: unknown): string => {
  const pairs = Object.entries((input ?? {}) as Record<string, unknown>)
  const texts = pairs.map(([name, value]): [string, string] => [name, String(value)])
  const query = new URLSearchParams(texts).toString()
  return query === '' ? '' : `?${query}`
}

/** Within single quotes of a shell. */
const quoted = (value: unknown): string => JSON.stringify(value).replaceAll("'", String.raw`'\''`)

const curl = (sample: Sample): string => {
  const { method, path, slug, input, proxyUrl } = sample
  const url = `${proxyUrl}/${slug}${path}`
  const key = '-H "Authorization: Bearer $HUB_KEY"'
  if (isQuery(sample)) {
    return `curl -i${method === 'GET' ? '' : ` -X ${method}`} '${url}${search(input)}' \\\n  ${key}`
  }
  const verb = method === 'POST' ? '' : ` -X ${method}`
  const type = "-H 'Content-Type: application/json'"
  return `curl -i${verb} ${url} \\\n  ${key} ${type} \\\n  -d '${quoted(input)}'`
}

const cli = (sample: Sample): string => {
  const { method, path, slug, input } = sample
  const verb = method === 'POST' ? '' : ` -X ${method}`
  if (!isQuery(sample)) return `npx agenthub call${verb} ${slug}${path} -d '${quoted(input)}'`
  const pairs = Object.entries((input ?? {}) as Record<string, unknown>)
  return [
    `npx agenthub call${verb} ${slug}${path}`,
    ...pairs.map(([name, value]) => `-q '${name}=${String(value)}'`),
  ].join(' ')
}

const mcp = ({ slug, method, path, input }: Sample): string => {
  const order = { service: slug, endpoint: `${method} ${path}`, input }
  return JSON.stringify({ name: 'hub_call', arguments: order }, null, 2)
}

const typescript = (sample: Sample): string => {
  const { slug, method, path, input, baseUrl } = sample
  const how = method === 'POST' ? '' : `, { method: '${method}' }`
  return `import { HubClient } from 'agenthub/client'

const hub = new HubClient({ baseUrl: '${baseUrl}', apiKey: process.env.HUB_KEY })
const { body, charged } = await hub.call('${slug}', '${path}', ${JSON.stringify(input)}${how})`
}
