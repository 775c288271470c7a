import { invalidFormat, isRecord, type Json, LIMITS, readSchema, tooDeep } from './caller-schema.ts'

/** Requested output as engines read it: a JSON Schema with few keywords, or prose. */
export type Format =
  | { readonly kind: 'schema'; readonly schema: Json; readonly ignored: readonly string[] }
  | { readonly kind: 'prose'; readonly prose: string }

/** @throws Refusal `invalid_output_format` */
export const readFormat = (format: unknown): Format => {
  if (format === undefined) return { kind: 'prose', prose: '' }
  const value = typeof format === 'string' ? parseLoosely(format) : format
  if (value === undefined) return { kind: 'prose', prose: typeof format === 'string' ? format : '' }
  if (Buffer.byteLength(JSON.stringify(value)) > LIMITS.bytes) {
    throw invalidFormat(`output_format must have at most ${LIMITS.bytes} bytes.`)
  }
  if (!isRecord(value) && !Array.isArray(value)) {
    throw invalidFormat('output_format must describe an object or an array.')
  }
  if (isSchema(value)) return { kind: 'schema', ...readSchema(value) }
  const schema = schemaOfExample(value, 0, { left: LIMITS.properties })
  return { kind: 'schema', schema, ignored: [] }
}

/** Schema for the embedded engine: the first of several options, only the keywords that it uses. */
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

const KINDS = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const
const KEYWORDS = ['type', 'properties', 'items', 'enum', 'const', 'anyOf', 'oneOf', '$schema']

/** Parses JSON or a sketch such as `{summary: string, tags: [string]}`; undefined for prose. */
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

/** Quotes bare names and types; if the result is not JSON, extracts the field names. */
const sketch = (text: string): unknown => {
  const quoted = text
    .slice(0, LIMITS.bytes)
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
    text.slice(0, LIMITS.bytes).matchAll(FIELD),
    ([, name = '', type = '']) => {
      const word = type.replace(/["']/g, '').toLowerCase()
      return [name, word === '[' || /^(?:array|list)/.test(word) ? [] : exampleOf(word)] as const
    },
  )
  if (fields.length === 0)
    throw invalidFormat('output_format is neither JSON nor a sketch of fields.')
  return Object.fromEntries(fields)
}

const exampleOf = (word: string): unknown => {
  if (/^(?:number|float|int)/.test(word)) return 0
  if (word.startsWith('bool')) return false
  return word.startsWith('str') ? '' : null
}

const isSchema = (value: unknown): value is Json => {
  if (!isRecord(value)) return false
  if (Object.hasOwn(value, '$schema')) return true
  const kind = value['type']
  const typed = KINDS.some((name) => name === kind) || Array.isArray(kind)
  if (Object.hasOwn(value, 'properties')) {
    return typed || (kind === undefined && isRecord(value['properties']))
  }
  return typed && (kind !== 'object' || Object.keys(value).every((key) => KEYWORDS.includes(key)))
}

/** Shape of a schema returned by `readSchema`. */
export const shapeOf = (schema: unknown): Shape => {
  if (!isRecord(schema)) return { kind: 'any' }
  const options = schema['anyOf']
  if (Array.isArray(options)) {
    const option: unknown = options.find((one) => !isRecord(one) || one['type'] !== 'null')
    return shapeOf(option)
  }
  const kind = kindOf(schema)
  const properties = schema['properties']
  return {
    kind,
    ...(kind === 'object' && isRecord(properties)
      ? {
          properties: Object.entries(properties).map(([key, one]) => [key, shapeOf(one)] as const),
        }
      : {}),
    ...(kind === 'array' ? { items: shapeOf(schema['items']) } : {}),
    ...choicesOf(schema),
    ...limitsOf(schema),
  }
}

const kindOf = (schema: Json): Shape['kind'] => {
  const type: unknown = Array.isArray(schema['type'])
    ? schema['type'].find((one) => one !== 'null')
    : schema['type']
  const kind = KINDS.find((name) => name === type)
  if (kind !== undefined) return kind
  if (isRecord(schema['properties'])) return 'object'
  if (schema['items'] !== undefined) return 'array'
  return choicesOf(schema).choices === undefined ? 'any' : 'string'
}

const choicesOf = (schema: Json): { choices?: readonly string[] } => {
  const values = schema['enum']
  if (!Array.isArray(values)) return {}
  const choices = values.filter((one): one is string => typeof one === 'string')
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

/** All properties of an example are required; the first list item describes all items. */
const schemaOfExample = (example: unknown, depth: number, budget: { left: number }): Json => {
  if (depth > LIMITS.depth) throw tooDeep()
  if (Array.isArray(example)) {
    const [first] = example
    return { type: 'array', items: schemaOfExample(first, depth + 1, budget) }
  }
  if (isRecord(example)) {
    const entries = Object.entries(example)
    budget.left -= entries.length
    if (budget.left < 0) {
      throw invalidFormat(`output_format may have ${LIMITS.properties} properties at most.`)
    }
    const properties = entries.map(([key, one]) => [key, schemaOfExample(one, depth + 1, budget)])
    return {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: entries.map(([key]) => key),
      additionalProperties: false,
    }
  }
  if (typeof example === 'number') return { type: 'number' }
  if (typeof example === 'boolean') return { type: 'boolean' }
  return typeof example === 'string' ? schemaOfWord(example) : {}
}

/** In an example, `"a|b|c"` is an enum, a type name is that type, other text is a description. */
const schemaOfWord = (word: string): Json => {
  const choices = word.split('|').map((one) => one.trim())
  if (choices.length > 1 && choices.every((one) => one !== '')) {
    return { type: 'string', enum: [...new Set(choices)] }
  }
  const type = word.trim().toLowerCase()
  if (/^(?:number|float|decimal)$/.test(type)) return { type: 'number' }
  if (/^(?:integer|int)$/.test(type)) return { type: 'integer' }
  if (/^bool(?:ean)?$/.test(type)) return { type: 'boolean' }
  if (/^(?:string\[\]|array|list)/.test(type)) return { type: 'array', items: {} }
  return /^(?:string|str|text)?$/.test(type)
    ? { type: 'string' }
    : { type: 'string', description: word.trim() }
}
