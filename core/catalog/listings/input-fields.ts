import { isJsonObject, type JsonObject, objectMember, tryParseJson } from '../../json.ts'

/** Names of the fields that one part of a request takes. */
export interface FieldNames {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

/** Fields of a request, as far as the seller's unverified schema or example shows them. */
export interface InputFields {
  readonly query: FieldNames
  readonly body: FieldNames
}

const NONE: FieldNames = { required: [], optional: [] }
const FIELDS_MAX = 40
const NAME_MAX = 60

/**
 * Returns the fields of the query and the body. Understands the bazaar extension (`queryParams`,
 * `body`, `bodyFields`), JSON Schema, and examples, of which every field is optional. Pure.
 */
export function inputFields(schema: unknown, method: string): InputFields {
  if (!isJsonObject(schema)) return { query: NONE, body: NONE }
  if (Array.isArray(schema['parameters'])) return parameterFields(schema['parameters'])
  const parts = isJsonObject(schema['properties']) ? schema['properties'] : schema
  const query = parts['queryParams']
  const body = parts['body'] ?? parts['bodyFields']
  if (query === undefined && body === undefined) {
    const whole = fieldNames(schema)
    return method === 'GET' || method === 'HEAD'
      ? { query: whole, body: NONE }
      : { query: NONE, body: whole }
  }
  return { query: fieldNames(query), body: fieldNames(body) }
}

/** Fields of an OpenAPI operation without a body: its parameters in the query. */
function parameterFields(parameters: readonly unknown[]): InputFields {
  const inQuery = parameters.filter(isJsonObject).filter((each) => each['in'] === 'query')
  const named = inQuery.filter((each) => typeof each['name'] === 'string').slice(0, FIELDS_MAX)
  const names = (required: boolean): string[] =>
    named
      .filter((each) => (each['required'] === true) === required)
      .map((each) => each['name'] as string)
  return {
    query: { required: names(true), optional: names(false) },
    body: NONE,
  }
}

function fieldNames(part: unknown): FieldNames {
  if (!isJsonObject(part)) return NONE
  const isSchema = isJsonObject(part['properties'])
  const fields = isSchema ? objectMember(part, 'properties') : part
  const named = isSchema && Array.isArray(part['required']) ? part['required'] : []
  const names = Object.keys(fields)
    .filter((name) => name.length <= NAME_MAX)
    .slice(0, FIELDS_MAX)
  const isRequired = (name: string): boolean =>
    named.includes(name) || (!isSchema && objectMember(fields, name)['required'] === true)
  return {
    required: names.filter(isRequired),
    optional: names.filter((name) => !isRequired(name)),
  }
}

/** Request of a caller to a seller. */
export interface SellerRequest {
  readonly url: string
  readonly method: string
  readonly body?: unknown
}

/** Returns the required fields that a request lacks. Pure. */
export function missingFields(schema: unknown, { url, method, body }: SellerRequest): string[] {
  const { query, body: inBody } = inputFields(schema, method)
  const params = URL.parse(url)?.searchParams
  const sent = parsedBody(body)
  return [
    ...query.required.filter((name) => !params?.has(name)),
    ...inBody.required.filter((name) => sent !== undefined && !Object.hasOwn(sent, name)),
  ]
}

/** Returns the members of a body; undefined for a text that is not JSON. */
function parsedBody(body: unknown): JsonObject | undefined {
  if (typeof body !== 'string') return isJsonObject(body) ? body : {}
  const value = tryParseJson(body)
  return isJsonObject(value) ? value : undefined
}
