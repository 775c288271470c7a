/** A JSON object: neither null nor an array. */
export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses JSON; returns undefined for any other text, or if the reviver throws. */
export function tryParseJson(
  text: string,
  reviver?: (name: string, value: unknown) => unknown,
): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch {
    return undefined
  }
}

/** Parses JSON; returns any other text unchanged. */
export function parseJsonOrText(text: string): unknown {
  const value = tryParseJson(text)
  return value === undefined ? text : value
}

/** Returns true if objects and arrays are nested at most `depth` deep. Safe for any value. */
export function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1))
}

/** Returns the value without its objects and arrays below `depth`, which become null. */
export function cutDepth(value: unknown, depth: number): unknown {
  return isShallow(value, depth) ? value : copyUpTo(value, depth)
}

function copyUpTo(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return null
  if (Array.isArray(value)) return value.map((inner) => copyUpTo(inner, depth - 1))
  const copies = Object.entries(value).map(([name, inner]) => [name, copyUpTo(inner, depth - 1)])
  return Object.fromEntries(copies)
}

/** Returns a member that is an object, or an empty object. */
export const objectMember = (value: JsonObject | undefined, name: string): JsonObject => {
  const member = value?.[name]
  return isJsonObject(member) ? member : {}
}

/** Returns true unless the `type` of a JSON Schema names other types than that of the value. */
export function hasType(type: unknown, value: unknown): boolean {
  const types = [type ?? []].flat()
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  const isInteger = Number.isInteger(value) && types.includes('integer')
  return types.length === 0 || types.includes(own) || isInteger
}
