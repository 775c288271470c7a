import type { Offering } from '../../core/catalog/services/catalog.ts'
import { Fault } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import type { AnyEndpoint } from '../../core/plugin/index.ts'
import { FormBody } from '../http/form-body.ts'
import type { CallRequest } from './call-types.ts'
import { readUrlValues } from './url-values.ts'

/** Merges path parameters with the query or body. Members from the URL take precedence. */
export function readInput(
  endpoint: AnyEndpoint,
  params: Readonly<Record<string, string>>,
  { method, query, body }: Pick<CallRequest, 'method' | 'query' | 'body'>,
): unknown {
  if (body instanceof FormBody) {
    const { input, form: styles = {} } = endpoint
    const sent = readUrlValues({ input, styles }, body.values)
    return readInput(endpoint, params, { method, query, body: sent })
  }
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

/** Returns a Fault for a form that the endpoint does not accept. */
export const unsupportedForm = (
  { endpoint }: Offering,
  { body }: Pick<CallRequest, 'body'>,
): Fault | undefined =>
  body instanceof FormBody && !endpoint.form ? new Fault('unsupported_media_type') : undefined
