import {
  type Call,
  type EgressRequest,
  Refusal,
  type Upstream,
  type UpstreamEndpoint,
} from 'agenthub/plugin'

type Values = Record<string, unknown>
type RequestBuilder = Pick<Call<unknown>, 'id' | 'input' | 'headers' | 'signal'>

/** Request headers that are always relayed; the provider may name more. */
const RELAYED: readonly string[] = [
  'accept',
  'accept-language',
  'prefer',
  'traceparent',
  'tracestate',
]
const IN_QUERY: ReadonlySet<string> = new Set(['GET', 'DELETE'])
const TYPES = {
  json: { 'content-type': 'application/json' },
  form: { 'content-type': 'application/x-www-form-urlencoded' },
  none: {},
} as const

/** Computes common parts once. @throws Refusal, from the builder, for a value no path can carry */
export function requestsOf(
  upstream: Upstream,
  endpoint: UpstreamEndpoint,
): (call: RequestBuilder) => EgressRequest {
  const { method, streams, maxBytes, idempotent } = endpoint
  const relayed = [...RELAYED, ...upstream.requestHeaders]
  const kind = IN_QUERY.has(method) ? 'none' : endpoint.body
  const injected = injectedOf(upstream, 'header')
  const added = Object.entries(injectedOf(upstream, 'query'))
  const urlOf = urlsOf(upstream.baseUrl, endpoint.upstreamPath)
  const totalMs = endpoint.deadlineSeconds * 1_000
  const common = {
    method,
    maxBytes,
    streams: streams ? ('at-once' as const) : false,
    timeouts: { headersMs: totalMs, bodyMs: totalMs, totalMs },
  }
  return ({ id, input, headers = {}, signal }) => {
    const values = { ...(input as Values) }
    const url = urlOf(values)
    const query = takeQuery(endpoint, values, added)
    return {
      ...common,
      url: query === undefined ? url : `${url}?${query.toString()}`,
      headers: {
        accept: '*/*',
        ...pickHeaders(headers, relayed),
        ...TYPES[kind],
        'x-agenthub-call': id,
        ...(idempotent && kind !== 'none' && { 'idempotency-key': id }),
        ...injected,
      },
      body: bodyOf(kind, values),
      signal,
    }
  }
}

/** Matches path values that could lead elsewhere, even if decoded twice. */
const UNSAFE = /[/\\\p{Cc}]|^\.{0,2}$|%(?:2e|2f|5c|00)/iu

/** Fills in a path template and removes the used values. */
function urlsOf(base: string, template: string): (values: Values) => string {
  if (!template.includes('{')) {
    const url = assertSafePath(`${base}${template}`)
    return () => url
  }
  return (values) => {
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name]
      delete values[name]
      const text = isScalar(value) ? String(value) : ''
      if (!UNSAFE.test(text) && text.isWellFormed()) return encodeURIComponent(text)
      throw new Refusal('path_parameter_not_allowed', `${name}: cannot stand in a path.`)
    })
    return assertSafePath(`${base}${path}`)
  }
}

/** @throws Refusal for a path that would be normalized to another one */
function assertSafePath(text: string): string {
  if (new URL(text).href === text || new URL(text).href === `${text}/`) return text
  throw new Refusal('path_parameter_not_allowed', 'The path would not be what it says.')
}

/** Moves values to the query; parameters that the provider adds cannot be overridden. */
function takeQuery(
  { method, query: named }: UpstreamEndpoint,
  values: Values,
  added: readonly (readonly [name: string, value: string])[],
): URLSearchParams | undefined {
  const names = IN_QUERY.has(method) ? Object.keys(values) : named
  if (names.length + added.length === 0) return undefined
  const query = new URLSearchParams()
  for (const name of names) {
    for (const value of listOf(values[name])) query.append(name, textOf(value))
    delete values[name]
  }
  for (const [name, value] of added) query.set(name, value)
  return query.size === 0 ? undefined : query
}

function bodyOf(kind: UpstreamEndpoint['body'], values: Values): string | undefined {
  if (kind === 'none') return undefined
  if (kind === 'json') return JSON.stringify(values)
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    for (const each of listOf(value)) form.append(name, textOf(each))
  }
  return form.toString()
}

const listOf = (value: unknown): readonly unknown[] => [value ?? []].flat()

const textOf = (value: unknown): string => (isScalar(value) ? String(value) : JSON.stringify(value))

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

const injectedOf = ({ injected }: Upstream, place: 'header' | 'query') =>
  Object.fromEntries(
    injected.filter((each) => each.place === place).map(({ name, value }) => [name, value]),
  )

function pickHeaders(headers: Readonly<Record<string, string>>, names: readonly string[]) {
  const out: Record<string, string> = {}
  for (const name of names) if (headers[name]) out[name] = headers[name]
  return out
}
