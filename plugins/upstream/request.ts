import { randomUUID } from 'node:crypto'
import {
  type Call,
  type EgressRequest,
  Refusal,
  type Upstream,
  type UpstreamEndpoint,
} from 'agenthub/plugin'
import {
  bytesOf,
  escape,
  formText,
  isScalar,
  multipartBytes,
  type Pair,
  pairsOf,
  pathText,
  textOf,
} from './serialize.ts'

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
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  text: 'text/plain',
  binary: 'application/octet-stream',
  none: undefined,
} as const

/** Computes common parts once. @throws Refusal, from the builder, for a value it cannot send */
export function requestsOf(
  upstream: Upstream,
  endpoint: UpstreamEndpoint,
): (call: RequestBuilder) => EgressRequest {
  const { method, streams, maxBytes, idempotent } = endpoint
  const relayed = [...RELAYED, ...upstream.requestHeaders]
  const bodyOf = bodiesOf(endpoint)
  const injected = injectedOf(upstream, 'header')
  const added = Object.entries(injectedOf(upstream, 'query'))
  const urlOf = urlsOf(upstream.baseUrl, endpoint)
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
    const body = bodyOf(values)
    return {
      ...common,
      url: query === '' ? url : `${url}?${query}`,
      headers: {
        accept: '*/*',
        ...pickHeaders(headers, relayed),
        ...(body && { 'content-type': body.type }),
        'x-agenthub-call': id,
        ...(idempotent && body && { 'idempotency-key': id }),
        ...injected,
      },
      body: body?.content,
      signal,
    }
  }
}

/** Matches path values that could lead elsewhere, even if decoded twice. */
const UNSAFE = /[/\\\p{Cc}]|^\.{0,2}$|%(?:2e|2f|5c|00)/iu

const SIMPLE = { style: 'simple', explode: false } as const

/** Fills in a path template and removes the used values. */
function urlsOf(
  base: string,
  { upstreamPath: template, encoding }: UpstreamEndpoint,
): (values: Values) => string {
  if (!template.includes('{')) {
    const url = assertSafePath(`${base}${template}`)
    return () => url
  }
  return (values) => {
    const path = template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
      const value = values[name]
      delete values[name]
      const style = encoding?.parameters?.[name]
      const texts = style ? scalarsOf(value) : [isScalar(value) ? String(value) : '']
      if (texts.length > 0 && texts.every((text) => !UNSAFE.test(text) && text.isWellFormed()))
        return pathText(style?.name ?? name, value, style ?? SIMPLE)
      throw new Refusal('path_parameter_not_allowed', `${name}: cannot be part of a path.`)
    })
    return assertSafePath(`${base}${path}`)
  }
}

/** Lists the names and values of a list or an object; nested ones cannot be part of a path. */
const scalarsOf = (value: unknown): readonly string[] =>
  isScalar(value)
    ? [String(value)]
    : Object.entries(value ?? {}).flatMap(([name, each]) =>
        Array.isArray(value)
          ? [isScalar(each) ? String(each) : '']
          : [name, isScalar(each) ? String(each) : ''],
      )

/** @throws Refusal for a path that would be normalized to another one */
function assertSafePath(text: string): string {
  if (new URL(text).href === text || new URL(text).href === `${text}/`) return text
  throw new Refusal('path_parameter_not_allowed', 'The path would be normalized to another one.')
}

/** Moves values to the query; parameters that the provider adds cannot be overridden. */
function takeQuery(
  { method, query: named, body, encoding }: UpstreamEndpoint,
  values: Values,
  added: readonly (readonly [name: string, value: string])[],
): string {
  const names = IN_QUERY.has(method) && body === 'none' ? Object.keys(values) : named
  if (names.length + added.length === 0) return ''
  const pairs: Pair[] = []
  for (const name of names) {
    pairs.push(...pairsOf(name, values[name], encoding?.parameters?.[name]))
    delete values[name]
  }
  const isAdded = (name: string): boolean => added.some(([secret]) => secret === name)
  return [
    ...pairs.filter(([name]) => !isAdded(name)),
    ...added.map(([name, value]) => [name, encodeURIComponent(value)] as const),
  ]
    .map(([name, value]) => `${escape(name)}=${value}`)
    .join('&')
}

interface RequestBody {
  readonly type: string
  readonly content: string | Uint8Array
}

/** Returns a function that serializes the remaining values; undefined if there is no body. */
function bodiesOf({ method, body: kind, encoding }: UpstreamEndpoint) {
  const { bodyMember, omitsEmptyBody, contentType, parts = {} } = encoding ?? {}
  const type = contentType ?? TYPES[kind]
  return (values: Values): RequestBody | undefined => {
    if (kind === 'none' || type === undefined || method === 'GET') return undefined
    const value = bodyMember === undefined ? values : values[bodyMember]
    if (value === undefined) return undefined
    if (omitsEmptyBody && Object.keys(values).length === 0) return undefined
    if (kind === 'json') return { type, content: JSON.stringify(value) }
    if (kind === 'text') return { type, content: textOf(value) }
    if (kind === 'binary') return { type, content: bytesOf(bodyMember ?? 'body', value) }
    if (kind === 'form') return { type, content: formText(value as Values, parts) }
    const boundary = `agenthub-${randomUUID()}`
    const content = multipartBytes(value as Values, parts, boundary)
    return { type: `${type.replace(/;\s*boundary=[^;]*/i, '')}; boundary=${boundary}`, content }
  }
}

const injectedOf = ({ injected }: Upstream, place: 'header' | 'query') =>
  Object.fromEntries(
    injected.filter((each) => each.place === place).map(({ name, value }) => [name, value]),
  )

function pickHeaders(headers: Readonly<Record<string, string>>, names: readonly string[]) {
  const out: Record<string, string> = {}
  for (const name of names) if (headers[name]) out[name] = headers[name]
  return out
}
