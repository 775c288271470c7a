import { isJsonObject } from '../json.ts'

interface JsonSchema {
  readonly type?: string
  readonly examples?: readonly unknown[]
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly minItems?: number
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  uri: 'https://example.com/',
  date: '2026-11-21',
  'date-time': '2026-11-21T12:00:00Z',
}

/** Caps of examples, whatever the schema requires. */
const STRING_LENGTH_MAX = 10_000
const ITEMS_MAX = 100

interface Making {
  /** Maximum number of items. */
  readonly room: number
  /** Member that the value is for. */
  readonly name: string
  /** True to use placeholders for values of which the schema has no sample. */
  readonly fills: boolean
}

/** Returns an example of an input that a JSON Schema describes; an empty object without one. */
export const exampleInput = (schema: unknown): unknown =>
  isJsonObject(schema) ? exampleOf(schema) : {}

/** Returns the first example of a schema, or the simplest value, with placeholders for texts. */
export const exampleOf = (schema: JsonSchema): unknown =>
  make(schema, { room: ITEMS_MAX, name: 'text', fills: true })

/**
 * Returns a value made of the examples, defaults and choices of a schema alone; undefined if it
 * lacks one for a part of the value that is required.
 */
export const sampleOf = (schema: unknown): unknown =>
  isJsonObject(schema) ? make(schema, { room: ITEMS_MAX, name: '', fills: false }) : undefined

function make(schema: JsonSchema, making: Making): unknown {
  const { examples = [], const: only, enum: choices = [], default: usual } = schema
  const declared = [examples[0], only, usual, choices[0]].find((value) => value !== undefined)
  if (declared !== undefined) return declared
  if (schema.anyOf) {
    const made = schema.anyOf.map((variant) => make(variant, making))
    return made.find((value) => value !== undefined)
  }
  switch (schema.type) {
    case 'string':
      return (
        FORMAT_EXAMPLES[schema.format ?? ''] ??
        (making.fills ? placeholder(schema, making) : undefined)
      )
    case 'number':
    case 'integer':
      return schema.minimum ?? (making.fills ? 0 : undefined)
    case 'boolean':
      return false
    case 'array':
      return makeList(schema, making)
    case 'object':
      return makeObject(schema, making)
    case undefined:
    default:
      return making.fills ? null : undefined
  }
}

/** `<city>`, padded and cut to the lengths of the schema. */
const placeholder = ({ minLength = 0, maxLength }: JsonSchema, { name }: Making): string =>
  `<${name}>`.padEnd(Math.min(minLength, STRING_LENGTH_MAX), '.').slice(0, maxLength)

/** Returns true for a text in place of a value of a member, of which the schema has no sample. */
export const isPlaceholder = (text: string, name: string): boolean =>
  text === `<${name}>`.padEnd(text.length, '.')

function makeList({ minItems = 0, items = {} }: JsonSchema, making: Making): unknown {
  const length = Math.max(1, Math.min(minItems, making.room))
  const list = Array.from({ length }, () => make(items, { ...making, room: making.room / length }))
  return list.includes(undefined) ? undefined : list
}

/** Returns the required members of an input of which its schema has no sample. */
export function membersWithoutSample(schema: unknown): readonly string[] {
  if (!isJsonObject(schema)) return []
  const { properties, required } = schema as JsonSchema
  return (Array.isArray(required) ? (required as readonly string[]) : []).filter(
    (name) => sampleOf(properties?.[name] ?? {}) === undefined,
  )
}

function makeObject({ properties = {}, required }: JsonSchema, making: Making): unknown {
  const names = Array.isArray(required) ? (required as readonly string[]) : []
  const room = making.room / names.length
  const members = names.map((name) => {
    return [name, make(properties[name] ?? {}, { ...making, room, name })] as const
  })
  return members.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(members)
}

/** Returns variations of a valid value that are probably invalid; the caller must check. */
export function nearMisses(good: unknown, schema: JsonSchema): readonly unknown[] {
  const known = (typeof good === 'object' && good !== null ? good : {}) as Record<string, unknown>
  const { properties = {}, required = [] } = schema
  const without = required.map((name) =>
    Object.fromEntries(Object.entries(known).filter(([key]) => key !== name)),
  )
  const mistyped = Object.keys(properties).map((name) => ({ ...known, [name]: [[null]] }))
  return [[], 'text', { ...known, no_such_field: 1 }, ...without, ...mistyped]
}
