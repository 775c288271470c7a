import { Refusal } from 'agenthub/plugin'

/**
 * What a caller wants filled in, read from a JSON Schema, an example, or a sketch. Only what
 * the engine acts on is kept: patterns and references of a stranger are never run.
 */
export interface Shape {
  readonly kind: 'any' | 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'
  readonly properties?: readonly (readonly [string, Shape])[]
  readonly items?: Shape
  readonly choices?: readonly string[]
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

const MOST_BYTES = 16_384
const DEEPEST = 8
const MOST_PROPERTIES = 200
const KINDS = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const
const KEYWORDS = ['type', 'properties', 'items', 'enum', 'const', 'anyOf', 'oneOf', '$schema']

type Json = Readonly<Record<string, unknown>>

const refuse = (detail: string): Refusal => new Refusal('invalid_output_format', detail)

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The shape of `output_format`; undefined when it is prose, or absent. */
export const readFormat = (format: unknown): Shape | undefined => {
  if (format === undefined) return undefined
  const value = typeof format === 'string' ? parseLoosely(format) : format
  if (value === undefined) return undefined
  if (Buffer.byteLength(JSON.stringify(value)) > MOST_BYTES) {
    throw refuse(`output_format must have at most ${MOST_BYTES} bytes.`)
  }
  if (!isRecord(value) && !Array.isArray(value)) {
    throw refuse('output_format must describe an object or an array.')
  }
  measure(value, 0, { left: MOST_PROPERTIES })
  return isSchema(value) ? shapeOfSchema(value) : shapeOfExample(value)
}

/** Strings hold JSON, a sketch such as `{summary: string, tags: [string]}`, or prose. */
const parseLoosely = (format: string): unknown => {
  const text = format.trim()
  try {
    return JSON.parse(text)
  } catch {
    return /^[[{]/.test(text) ? sketch(text) : undefined
  }
}

const FIELD =
  /["']?([\p{L}_][\p{L}\p{N}_-]{0,60})["']?\??\s{0,4}:\s{0,4}(["']?[\p{L}]{0,12}|[[{])?/gu

/** Quotes bare names and types; what still is no JSON gives at least the names of its fields. */
const sketch = (text: string): unknown => {
  const quoted = text
    .slice(0, MOST_BYTES)
    .replace(/'/g, '"')
    .replace(/([{,]\s{0,80})([\p{L}_][\p{L}\p{N}_-]{0,60})\??(?=\s{0,8}:)/gu, '$1"$2"')
    .replace(/([:[]\s{0,80})(\p{L}[\p{L}\p{N}_ |]{0,200}(?:\[\])?)(?=\s{0,80}[,}\]])/gu, '$1"$2"')
    .replace(/"\s{0,8}\|\s{0,8}"/g, '|')
    .replace(/,(\s{0,80}[}\]])/g, '$1')
  try {
    return JSON.parse(quoted)
  } catch {
    return fieldsOf(text)
  }
}

const fieldsOf = (text: string): unknown => {
  const fields = Array.from(
    text.slice(0, MOST_BYTES).matchAll(FIELD),
    ([, name = '', type = '']) => {
      const word = type.replace(/["']/g, '').toLowerCase()
      return [name, word === '[' || /^(?:array|list)/.test(word) ? [] : exampleOf(word)] as const
    },
  )
  if (fields.length === 0) throw refuse('output_format is neither JSON nor a sketch of fields.')
  return Object.fromEntries(fields)
}

const exampleOf = (word: string): unknown => {
  if (/^(?:number|float|int)/.test(word)) return 0
  if (word.startsWith('bool')) return false
  return word.startsWith('str') ? '' : null
}

/** Throws when the value is too deep or has too many properties. */
const measure = (value: unknown, depth: number, budget: { left: number }): void => {
  if (typeof value !== 'object' || value === null) return
  // A schema needs two levels, `properties` and the name, for one of an example.
  if (depth > DEEPEST * 2) throw refuse(`output_format may be ${DEEPEST} levels deep at most.`)
  const inner = Object.values(value)
  budget.left -= inner.length
  if (budget.left < 0) throw refuse(`output_format may have ${MOST_PROPERTIES} properties at most.`)
  for (const one of inner) measure(one, depth + 1, budget)
}

const isSchema = (value: unknown): value is Json => {
  if (!isRecord(value)) return false
  if (Object.hasOwn(value, '$schema')) return true
  const kind = value['type']
  const typed = KINDS.some((name) => name === kind) || Array.isArray(kind)
  if (Object.hasOwn(value, 'properties'))
    return isRecord(value['properties']) && (typed || kind === undefined)
  return typed && (kind !== 'object' || Object.keys(value).every((key) => KEYWORDS.includes(key)))
}

const shapeOfSchema = (schema: unknown): Shape => {
  if (!isRecord(schema)) return { kind: 'any' }
  const options = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options)) {
    const option: unknown = options.find((one) => !isRecord(one) || one['type'] !== 'null')
    return shapeOfSchema(option)
  }
  const kind = kindOf(schema)
  const properties = schema['properties']
  return {
    kind,
    ...(kind === 'object' && isRecord(properties)
      ? {
          properties: Object.entries(properties).map(
            ([key, one]) => [key, shapeOfSchema(one)] as const,
          ),
        }
      : {}),
    ...(kind === 'array' ? { items: shapeOfSchema(schema['items']) } : {}),
    ...choicesOf(schema),
    ...limitsOf(schema),
  }
}

const kindOf = (schema: Json): Shape['kind'] => {
  const told: unknown = Array.isArray(schema['type'])
    ? schema['type'].find((one) => one !== 'null')
    : schema['type']
  const kind = KINDS.find((name) => name === told)
  if (kind !== undefined) return kind
  if (isRecord(schema['properties'])) return 'object'
  if (schema['items'] !== undefined) return 'array'
  return choicesOf(schema).choices === undefined ? 'any' : 'string'
}

const choicesOf = (schema: Json): { choices?: readonly string[] } => {
  const listed = schema['enum'] ?? (schema['const'] === undefined ? undefined : [schema['const']])
  if (!Array.isArray(listed)) return {}
  const choices = listed.filter((one): one is string => typeof one === 'string')
  return choices.length > 0 ? { choices } : {}
}

const limitsOf = (
  schema: Json,
): Partial<Record<'minItems' | 'maxItems' | 'minimum' | 'maximum', number>> =>
  Object.fromEntries(
    (['minItems', 'maxItems', 'minimum', 'maximum'] as const)
      .map((name) => [name, schema[name]] as const)
      .filter(([, limit]) => typeof limit === 'number'),
  )

/** `"a|b|c"` in an example is a choice; any other string is a place for a string. */
const shapeOfExample = (example: unknown): Shape => {
  if (Array.isArray(example)) return { kind: 'array', items: shapeOfExample(example[0]) }
  if (isRecord(example)) {
    const entries = Object.entries(example)
    return { kind: 'object', properties: entries.map(([key, one]) => [key, shapeOfExample(one)]) }
  }
  if (typeof example === 'number') return { kind: 'number' }
  if (typeof example === 'boolean') return { kind: 'boolean' }
  return typeof example === 'string' ? shapeOfWord(example) : { kind: 'any' }
}

const shapeOfWord = (word: string): Shape => {
  const choices = word.split('|').map((one) => one.trim())
  if (choices.length > 1 && choices.every((one) => one !== '')) return { kind: 'string', choices }
  const type = word.trim().toLowerCase()
  if (/^(?:number|float|decimal)$/.test(type)) return { kind: 'number' }
  if (/^(?:integer|int)$/.test(type)) return { kind: 'integer' }
  if (/^bool(?:ean)?$/.test(type)) return { kind: 'boolean' }
  return /^(?:string\[\]|array|list)/.test(type)
    ? { kind: 'array', items: { kind: 'any' } }
    : { kind: 'string' }
}
