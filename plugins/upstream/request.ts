import {
  type Call,
  type EgressRequest,
  Refusal,
  type Upstream,
  type UpstreamEndpoint,
} from 'agenthub/plugin'

type Values = Readonly<Record<string, unknown>>

/** Headers of a caller that go on by themselves; its owner may ask for more. */
const RELAYED: readonly string[] = [
  'accept',
  'accept-language',
  'prefer',
  'traceparent',
  'tracestate',
]

/**
 * What is asked of the upstream for a call.
 * @throws Refusal for a value that no path can carry
 */
export function requestOf(
  upstream: Upstream,
  endpoint: UpstreamEndpoint,
  { id, input, headers = {}, signal }: Pick<Call<unknown>, 'id' | 'input' | 'headers' | 'signal'>,
): EgressRequest {
  const { method, streams, maxBytes, deadlineSeconds } = endpoint
  const values = { ...(input as Values) }
  const path = takePath(endpoint.upstreamPath, values)
  const query = takeQuery(upstream, endpoint, values)
  const body = bodyOf(endpoint, values)
  const totalMs = deadlineSeconds * 1_000
  return {
    url: urlOf(upstream.baseUrl, path, query),
    method,
    headers: {
      accept: '*/*',
      ...only(headers, [...RELAYED, ...upstream.requestHeaders]),
      ...(body && { 'content-type': body.type }),
      'x-agenthub-call': id,
      ...(endpoint.idempotent && body && { 'idempotency-key': id }),
      ...injectedOf(upstream, 'header'),
    },
    body: body?.text,
    signal,
    maxBytes,
    streams: streams ? 'at-once' : false,
    timeouts: { headersMs: totalMs, bodyMs: totalMs, totalMs },
  }
}

/** What would lead elsewhere in a path, also to a server that decodes it twice. */
const UNSAFE = /[/\\\p{Cc}]|^\.{0,2}$|%(?:2e|2f|5c|00)/iu

/** Fills in a path, and takes out of the values what stands in it. */
function takePath(template: string, values: Record<string, unknown>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    delete values[name]
    const text = typeof value === 'object' || value === undefined ? '' : String(value)
    if (!UNSAFE.test(text) && text.isWellFormed()) return encodeURIComponent(text)
    throw new Refusal('path_parameter_not_allowed', `${name}: cannot stand in a path.`)
  })
}

const IN_QUERY: ReadonlySet<string> = new Set(['GET', 'DELETE'])

/** Takes out of the values what stands in the query; what the owner adds cannot be replaced. */
function takeQuery(
  upstream: Upstream,
  { method, query: named }: UpstreamEndpoint,
  values: Record<string, unknown>,
): URLSearchParams {
  const names = IN_QUERY.has(method) ? Object.keys(values) : named
  const query = new URLSearchParams()
  for (const name of names) {
    for (const value of [values[name] ?? []].flat()) query.append(name, textOf(value))
    delete values[name]
  }
  for (const [name, value] of Object.entries(injectedOf(upstream, 'query'))) query.set(name, value)
  return query
}

const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)

function bodyOf({ method, body }: UpstreamEndpoint, values: Values) {
  if (body === 'none' || IN_QUERY.has(method)) return undefined
  if (body === 'json') return { type: 'application/json', text: JSON.stringify(values) }
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    for (const each of [value ?? []].flat()) form.append(name, textOf(each))
  }
  return { type: 'application/x-www-form-urlencoded', text: form.toString() }
}

/** @throws Refusal for what is read as another path than it is written */
function urlOf(base: string, path: string, query: URLSearchParams): string {
  const text = `${base}${path}`
  if (new URL(text).href !== text) {
    throw new Refusal('path_parameter_not_allowed', 'The path would not be what it says.')
  }
  return query.size === 0 ? text : `${text}?${query.toString()}`
}

const injectedOf = ({ injected }: Upstream, place: 'header' | 'query') =>
  Object.fromEntries(
    injected.filter((each) => each.place === place).map(({ name, value }) => [name, value]),
  )

const only = (headers: Readonly<Record<string, string>>, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])))
