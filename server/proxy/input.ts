import { isJsonObject } from '../../core/json.ts'
import type { AnyEndpoint } from '../../core/plugin/index.ts'
import type { CallRequest } from './call-types.ts'
import { readUrlValues } from './url-values.ts'

/** Merges path parameters with the query or body. Members from the URL take precedence. */
export function readInput(
  endpoint: AnyEndpoint,
  params: Readonly<Record<string, string>>,
  { method, query, body }: Pick<CallRequest, 'method' | 'query' | 'body'>,
): unknown {
  const isSent = body !== undefined && body !== null
  if (method === 'GET' || (method === 'DELETE' && !isSent))
    return readUrlValues(endpoint, { ...query, ...params })
  const { query: names = [], styles } = endpoint
  const declared = styles ? query : pickNames(query, names)
  const fromUrl = { ...declared, ...params }
  if (Object.keys(fromUrl).length === 0) return body
  if (isSent && !isJsonObject(body)) return body
  const values = readUrlValues(endpoint, fromUrl)
  const read = styles ? pickNames(values, [...names, ...Object.keys(params)]) : values
  return isJsonObject(body) ? { ...body, ...read } : read
}

const pickNames = (values: Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.fromEntries(
    names.filter((name) => values[name] !== undefined).map((name) => [name, values[name]]),
  )
