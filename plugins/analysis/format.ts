import { invalidFormat, isRecord, type Json, LIMITS, readSchema, tooDeep } from './caller-schema.ts'
import { schemaOfProse } from './prose-format.ts'
import { DAY_PATTERN, leadingType, schemaOfPhrase } from './type-phrases.ts'
import { schemaOfSketch } from './type-sketch.ts'

/** Requested output as engines read it: a JSON Schema with few keywords, or prose. */
export type Format =
  | { readonly kind: 'schema'; readonly schema: Json; readonly ignored: readonly string[] }
  | { readonly kind: 'prose'; readonly prose: string }

/** @throws Refusal `invalid_output_format` */
export const readFormat = (format: unknown): Format => {
  if (format === undefined) return { kind: 'prose', prose: '' }
  const value = typeof format === 'string' ? parseJson(format) : format
  if (value === undefined) return readText(typeof format === 'string' ? format : '')
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

/** A sketch between words: `Respond with {"name": string}`, `an array of { a: number }`. */
const quotedSketch = (text: string): Json | undefined => {
  const from = text.search(/\{|\[\s?[{"]/)
  const to = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1
  if (from <= 0 || to <= from) return undefined
  const schema = schemaOfSketch(text.slice(from, to))
  const isMany = /\b(?:array|list)s? of\b/i.test(text.slice(Math.max(0, from - 40), from))
  return schema === undefined || !isMany ? schema : { type: 'array', items: schema }
}

const parseJson = (format: string): unknown => {
  try {
    return JSON.parse(format)
  } catch {
    return undefined
  }
}

/** Reads a sketch such as `{summary: string, tags: [string]}`, or prose. */
const readText = (text: string): Format => {
  const sketched = schemaOfSketch(text) ?? quotedSketch(text)
  if (sketched === undefined && /^\s*[[{]/.test(text)) {
    throw invalidFormat('output_format is neither JSON nor a sketch of fields.')
  }
  const schema = sketched ?? schemaOfProse(text)
  if (schema === undefined) return { kind: 'prose', prose: text }
  // `json` alone requests no certain fields.
  if (Object.keys(schema).length === 0) return { kind: 'prose', prose: '' }
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
  /** Format of a day, such as `YYYY-MM-DD`. */
  readonly day?: string
  /** Words of the caller about the value. */
  readonly about?: string
}

const KINDS = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const
const KEYWORDS = ['type', 'properties', 'items', 'enum', 'const', 'anyOf', 'oneOf', '$schema']

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
    ...dayOf(schema),
    ...(typeof schema['description'] === 'string' ? { about: schema['description'] } : {}),
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

const dayOf = ({ format, description }: Json): { day?: string } => {
  if (format === 'date') return { day: 'YYYY-MM-DD' }
  const pattern = typeof description === 'string' ? description.trim() : ''
  return DAY_PATTERN.test(pattern) ? { day: pattern } : {}
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

/** In an example, a type or a format of dates in words is that type, other text a description. */
const schemaOfWord = (word: string): Json => {
  const text = word.trim()
  if (text === '') return { type: 'string' }
  // An example sentence is no list of choices, although it may contain `or`.
  const isPhrase = text.includes('|') || !/\bor\b|\//.test(text) || text.split(' ').length <= 6
  const schema = isPhrase ? (schemaOfPhrase(text) ?? leadingType(text)) : undefined
  return schema ?? { type: 'string', description: text }
}
