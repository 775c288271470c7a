import { isJsonObject, type JsonObject } from '../../../core/json.ts'

const DEPTH_MAX = 12

/** Resolves a local reference of a document. */
export function resolveLocal(root: JsonObject, node: unknown): unknown {
  let found = node
  for (
    let hops = 0;
    isJsonObject(found) && typeof found['$ref'] === 'string' && hops < 20;
    hops++
  ) {
    const ref: string = found['$ref']
    if (!ref.startsWith('#/')) return undefined
    found = ref
      .slice(2)
      .split('/')
      .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((at, name) => (at as JsonObject | undefined)?.[name], root)
  }
  return found
}

/**
 * Builds a value that a schema of a document accepts, as far as its common keywords say. A member
 * that only responses have is left out.
 */
export function sampleOf(root: JsonObject, given: unknown, depth = 0): unknown {
  const schema = resolveLocal(root, given)
  if (!isJsonObject(schema) || depth > DEPTH_MAX) return undefined
  if (Array.isArray(schema['enum'])) return schema['enum'].find((each) => each !== null)
  if (schema['const'] !== undefined) return schema['const']
  const { allOf, oneOf, anyOf } = schema
  if (Array.isArray(allOf)) {
    const parts = [...allOf, { ...schema, allOf: undefined }].map((each) =>
      sampleOf(root, each, depth + 1),
    )
    const objects = parts.filter(isJsonObject)
    return objects.length > 0
      ? Object.assign({}, ...objects)
      : parts.find((each) => each !== undefined)
  }
  const [choice] = [oneOf, anyOf].find(Array.isArray) ?? []
  if (choice !== undefined) {
    const part = sampleOf(root, choice, depth + 1)
    const own = sampleOf(root, { ...schema, oneOf: undefined, anyOf: undefined }, depth + 1)
    return isJsonObject(part) && isJsonObject(own) ? { ...own, ...part } : (part ?? own)
  }
  return sampleOfType(root, schema, depth)
}

function sampleOfType(root: JsonObject, schema: JsonObject, depth: number): unknown {
  const { properties } = schema
  const types = [schema['type'] ?? []].flat()
  const [type = isJsonObject(properties) ? 'object' : undefined] = types.filter((t) => t !== 'null')
  if (type === 'integer' || type === 'number') return sampleNumber(schema)
  if (type === 'boolean') return true
  if (type === 'array') {
    const item = sampleOf(root, schema['items'], depth + 1)
    const count = schema['uniqueItems'] === true ? 1 : Number(schema['minItems'] ?? 1)
    return item === undefined ? undefined : Array.from({ length: Math.max(1, count) }, () => item)
  }
  if (type === 'object') return sampleObject(root, schema, depth)
  if (type === 'string') return sampleText(schema)
  return undefined
}

function sampleObject(root: JsonObject, schema: JsonObject, depth: number): JsonObject {
  const { properties, required } = schema
  const needed = new Set(Array.isArray(required) ? (required as unknown[]) : [])
  const members = isJsonObject(properties) ? Object.entries(properties) : []
  const chosen = members.filter(([name, each]) => {
    const resolved = resolveLocal(root, each)
    const isReadOnly = isJsonObject(resolved) && resolved['readOnly'] === true
    return !isReadOnly && (needed.has(name) || depth < 1)
  })
  return Object.fromEntries(
    chosen.flatMap(([name, each]) => {
      const value = sampleOf(root, each, depth + 1)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

function sampleNumber(schema: JsonObject): number {
  const low = Number(schema['minimum'] ?? 1)
  const above =
    typeof schema['exclusiveMinimum'] === 'number' ? schema['exclusiveMinimum'] + 1 : low
  const step = Number(schema['multipleOf'] ?? 1)
  const value = Math.max(low + (schema['exclusiveMinimum'] === true ? 1 : 0), above)
  const most = Number(schema['maximum'] ?? Infinity)
  return Math.min(step >= 1 ? Math.ceil(value / step) * step : value, most)
}

function sampleText(schema: JsonObject): string | undefined {
  const example = [schema['example'], schema['default'], [schema['examples']].flat()[0]].find(
    (each) => typeof each === 'string' && each !== '',
  )
  if (typeof example === 'string') return example
  if (schema['pattern'] !== undefined) return undefined
  const least = Number(schema['minLength'] ?? 1)
  return 'ab'.padEnd(least, 'c').slice(0, Number(schema['maxLength'] ?? Math.max(2, least)))
}
