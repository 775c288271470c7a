import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { AnyEndpoint } from '../../core/plugin/index.ts'
import type { CallRequest } from './call.ts'

/** Methods whose input is the query; all others bring a JSON body. */
const QUERY_METHODS: ReadonlySet<string> = new Set(['GET', 'DELETE'])

interface Described {
  readonly type?: string | readonly string[]
  readonly items?: Described
  readonly properties?: Readonly<Record<string, Described>>
}

/**
 * The input of a call: its query or its body, with what its path says. An address says what it is
 * about, so its members come before those of the body.
 */
export function inputOf(
  endpoint: AnyEndpoint,
  params: Readonly<Record<string, string>>,
  { method, query, body }: Pick<CallRequest, 'method' | 'query' | 'body'>,
): unknown {
  const { properties = {} } = endpoint.input.json as Described
  const read = (values: JsonObject) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, typed(value, properties[name])]),
    )
  if (QUERY_METHODS.has(method)) return read({ ...query, ...params })
  const named = (endpoint.query ?? []).filter((name) => query[name] !== undefined)
  const around = { ...Object.fromEntries(named.map((name) => [name, query[name]])), ...params }
  if (Object.keys(around).length === 0) return body
  if (body === undefined || body === null) return read(around)
  return isJsonObject(body) ? { ...body, ...read(around) } : body
}

/** Values of an address are text: numbers, booleans and lists are read where they are expected. */
function typed(value: unknown, { type, items }: Described = {}): unknown {
  const types = [type ?? []].flat()
  if (types.includes('array') && (typeof value === 'string' || Array.isArray(value))) {
    return [value].flat().map((each) => typed(each, items))
  }
  if (typeof value !== 'string') return value
  const isNumeric = types.includes('integer') || types.includes('number')
  if (isNumeric && /^-?\d{1,15}(\.\d{1,10})?$/.test(value)) return Number(value)
  if (types.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true'
  return value
}
