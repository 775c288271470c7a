import { isJsonObject, type JsonObject } from '../../json.ts'
import type { AnyEndpoint } from '../../plugin/index.ts'

/** JSON Schema of an object, as far as its members are concerned. */
export interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly description?: string }>>
  readonly required?: readonly string[]
  /** Whole inputs. */
  readonly examples?: readonly unknown[]
}

/** Schemas of the parts of a request. Without `body`, the request has none. */
export interface RequestInput {
  readonly path: ObjectSchema
  readonly query: ObjectSchema
  readonly body?: ObjectSchema
}

/** Splits the input schema of an endpoint into path, query and body. Pure. */
export function splitInput(endpoint: AnyEndpoint, method: string, path: string): RequestInput {
  const input: ObjectSchema = publicSchema(endpoint.input.json)
  const { query } = endpoint
  const isAllInQuery = method === 'GET' || (method === 'DELETE' && !query?.length)
  const inPath = (name: string) => path.includes(`{${name}}`)
  const inQuery = (name: string) =>
    !inPath(name) && (isAllInQuery || query?.includes(name) === true)
  return {
    path: pickMembers(input, inPath),
    query: pickMembers(input, inQuery),
    ...(!isAllInQuery && { body: pickMembers(input, (name) => !inPath(name) && !inQuery(name)) }),
  }
}

/** Schema without references to its own `$defs`, which would not resolve in another document. */
export function publicSchema<Schema extends object>(schema: Schema): Schema {
  if (!('$defs' in schema)) return schema
  const { $defs: _, ...rest } = schema
  return JSON.parse(JSON.stringify(rest), (key, value: unknown) =>
    key === '$ref' && String(value).startsWith('#/$defs/') ? undefined : value,
  ) as Schema
}

/** Keeps only some members of an object schema. Returns other schemas unchanged. */
function pickMembers(schema: ObjectSchema, keep: (name: string) => boolean): ObjectSchema {
  const { properties, required, examples } = schema
  if (!properties) return schema
  const pick = (members: JsonObject) =>
    Object.fromEntries(Object.entries(members).filter(([name]) => keep(name)))
  const picked = pick(properties)
  if (Object.keys(picked).length === Object.keys(properties).length) return schema
  return {
    ...schema,
    properties: picked as NonNullable<ObjectSchema['properties']>,
    required: (required ?? []).filter(keep),
    ...(examples && { examples: examples.filter(isJsonObject).map(pick) }),
  }
}

/** Names, types and required members of an object schema, where the whole is too large. */
export const outlineOf = ({ properties = {}, required = [] }: ObjectSchema): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, { type }]: [string, JsonObject]) => [
      name,
      type === undefined ? {} : { type },
    ]),
  ),
  required,
})
