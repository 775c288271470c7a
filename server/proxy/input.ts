import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { AnyEndpoint } from '../../core/plugin/index.ts'
import type { CallRequest } from './call-types.ts'

/** Methods whose input is the query; the input of all others is a JSON body. */
const QUERY_METHODS: ReadonlySet<string> = new Set(['GET', 'DELETE'])

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

/** Merges path parameters with the query or body. Members from the URL take precedence. */
export function readInput(
  endpoint: AnyEndpoint,
  params: Readonly<Record<string, string>>,
  { method, query, body }: Pick<CallRequest, 'method' | 'query' | 'body'>,
): unknown {
  const { properties = {} } = endpoint.input.json as JsonSchema
  const read = (values: JsonObject) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, convertText(value, properties[name])]),
    )
  if (QUERY_METHODS.has(method)) return read({ ...query, ...params })
  const declared = (endpoint.query ?? []).filter((name) => query[name] !== undefined)
  const fromUrl = { ...Object.fromEntries(declared.map((name) => [name, query[name]])), ...params }
  if (Object.keys(fromUrl).length === 0) return body
  if (body === undefined || body === null) return read(fromUrl)
  return isJsonObject(body) ? { ...body, ...read(fromUrl) } : body
}

/** Converts text from a URL to the number, boolean or array that the schema declares. */
function convertText(value: unknown, { type, items }: JsonSchema = {}): unknown {
  const types = [type ?? []].flat()
  if (types.includes('array') && (typeof value === 'string' || Array.isArray(value))) {
    return [value].flat().map((each) => convertText(each, items))
  }
  if (typeof value !== 'string') return value
  const isNumeric = types.includes('integer') || types.includes('number')
  if (isNumeric && /^-?\d{1,15}(\.\d{1,10})?$/.test(value)) return Number(value)
  if (types.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true'
  return value
}
