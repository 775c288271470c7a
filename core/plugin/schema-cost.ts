import { isJsonObject, type JsonObject } from '../json.ts'

/** Keywords whose value is a schema, a list of schemas, or a map of schemas. */
const SINGLE_KEYWORDS = [
  'items',
  'additionalProperties',
  'not',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
] as const
const LIST_KEYWORDS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const
const MAP_KEYWORDS = [
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
] as const

/** Lists the direct subschemas of a schema with their locations. */
export const subschemas = (
  schema: JsonObject,
): readonly (readonly [place: string, schema: unknown])[] => [
  ...SINGLE_KEYWORDS.flatMap((key) =>
    isJsonObject(schema[key]) ? [[key, schema[key]] as const] : [],
  ),
  ...LIST_KEYWORDS.flatMap((key) =>
    Array.isArray(schema[key])
      ? schema[key].map((each: unknown, i) => [`${key}/${i}`, each] as const)
      : [],
  ),
  ...MAP_KEYWORDS.flatMap((key) =>
    isJsonObject(schema[key])
      ? Object.entries(schema[key]).map(([name, each]) => [`${key}/${name}`, each] as const)
      : [],
  ),
]

/**
 * Upper bounds of the work that a schema causes, in units of about a nanosecond. Without
 * references, each part of a schema meets each part of a value at most once, so that the work of a
 * validation is at most `perValue` for each value and name plus `perCharacter` for each character.
 */
interface SchemaCost {
  readonly perValue: number
  readonly perCharacter: number
  /** Number of subschemas and pattern instructions to compile. */
  readonly size: number
}

/** Cost of a schema with references, which may recurse: no bound is known. */
const UNBOUNDED: SchemaCost = { perValue: Infinity, perCharacter: Infinity, size: Infinity }

const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'] as const
const NODES_MAX = 10_000
/** Units per subschema, per pattern, and per instruction of a pattern and character. */
const NODE_UNITS = 20
const MATCH_UNITS = 1_000
const INSTRUCTION_UNITS = 40
/** Items are serialized to compare them. */
const UNIQUE_UNITS = 1_500

const costs = new WeakMap<object, SchemaCost>()

/** Computes the cost of a schema; cached by schema object. */
export function schemaCost(schema: JsonObject): SchemaCost {
  const cached = costs.get(schema)
  if (cached) return cached
  const cost = measure(schema)
  costs.set(schema, cost)
  return cost
}

function measure(schema: JsonObject): SchemaCost {
  let [perValue, perCharacter, size] = [0, 0, 0]
  const stack: unknown[] = [schema]
  while (stack.length > 0) {
    const node = stack.pop()
    perValue += NODE_UNITS
    if (++size > NODES_MAX) return UNBOUNDED
    if (!isJsonObject(node)) continue
    if (REFERENCES.some((name) => name in node)) return UNBOUNDED
    for (const [, inner] of subschemas(node)) stack.push(inner)
    perValue += NODE_UNITS * listedValues(node)
    if ('minLength' in node || 'maxLength' in node) perCharacter += 1
    if (node['uniqueItems'] === true) {
      perValue += UNIQUE_UNITS
      perCharacter += 1
    }
    for (const pattern of patternsOf(node)) {
      const instructions = patternSize(pattern)
      perValue += MATCH_UNITS
      perCharacter += INSTRUCTION_UNITS * instructions
      size += instructions
    }
  }
  return { perValue, perCharacter, size }
}

/** Returns the patterns that a schema applies to strings and to names. */
export const patternsOf = ({ pattern, patternProperties }: JsonObject): readonly string[] => [
  ...(isJsonObject(patternProperties) ? Object.keys(patternProperties) : []),
  ...(typeof pattern === 'string' ? [pattern] : []),
]

/** Counts allowed values and required names, each of which is compared with a value. */
function listedValues(node: JsonObject): number {
  let count = 0
  for (const key of ['enum', 'const', 'required', 'dependentRequired'] as const) {
    if (node[key] !== undefined) count += memberCount(node[key])
  }
  return count
}

/** Counts the values in a JSON value. */
function memberCount(value: unknown): number {
  let count = 0
  const stack = [value]
  while (stack.length > 0) {
    const each = stack.pop()
    count++
    if (typeof each !== 'object' || each === null) continue
    for (const inner of Object.values(each)) stack.push(inner)
  }
  return count
}

/** Size of a Unicode class, and of any other element of a pattern. */
const UNICODE_CLASS_SIZE = 4
/** An escape; longer than two characters if it is a Unicode class or a code. */
const ESCAPE = /^\\(?:[pPx]\{[^}]{0,40}\}|[pP].|[^])/
const ESCAPE_MAX = 44
const REPEAT = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/

/** Estimates the number of instructions of a RE2 pattern, in which repeats are unrolled. */
export function patternSize(pattern: string): number {
  const groups: number[] = []
  let total = 0
  let last = 0
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i]!
    const repeat = char === '{' ? REPEAT.exec(pattern.slice(i, i + 12)) : null
    if (repeat) {
      const times = Math.max(Number(repeat[1]), Number(repeat[2] ?? 0), 1)
      total += last * (times - 1)
      last *= times
      i += repeat[0].length - 1
    } else if (char === '(') {
      groups.push(total)
      total = 0
    } else if (char === ')') {
      last = total + 2
      total = (groups.pop() ?? 0) + last
    } else {
      const escaped = char === '\\' ? ESCAPE.exec(pattern.slice(i, i + ESCAPE_MAX)) : null
      last = escaped && escaped[0].length > 2 ? UNICODE_CLASS_SIZE : 1
      if (escaped) i += escaped[0].length - 1
      else if (char === '[') i = endOfClass(pattern, i)
      total += last
    }
  }
  return groups.reduce((sum, outer) => sum + outer, total)
}

/** Returns the position of the bracket that closes a class. */
function endOfClass(pattern: string, start: number): number {
  let i = start + 1
  if (pattern[i] === '^') i++
  for (i++; i < pattern.length && pattern[i] !== ']'; i++) if (pattern[i] === '\\') i++
  return i
}

/** Returns true if validating a value by a schema takes at most this many units. */
export function isWithin(limit: number, schema: JsonObject, value: unknown): boolean {
  const { perValue, perCharacter } = schemaCost(schema)
  let left = limit
  const stack: unknown[] = [value]
  while (stack.length > 0) {
    const each = stack.pop()
    left -= perValue
    if (typeof each === 'string') left -= each.length * perCharacter
    else if (Array.isArray(each)) {
      if (each.length * perValue > left) return false
      for (const item of each) stack.push(item)
    } else if (isJsonObject(each)) {
      for (const name of Object.keys(each)) {
        left -= perValue + name.length * perCharacter
        stack.push(each[name])
      }
    }
    if (left < 0 || Number.isNaN(left)) return false
  }
  return true
}
