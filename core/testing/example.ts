import { isJsonObject } from '../json.ts'

interface JsonSchema {
  readonly type?: string
  readonly examples?: readonly unknown[]
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

const TEXT = 'The delivery from Oslo was late, but Maria Silva was helpful.'
const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  uri: 'https://example.com/',
  date: '2026-11-21',
  'date-time': '2026-11-21T12:00:00Z',
}

/** Caps of examples, whatever the schema requires. */
const STRING_LENGTH_MAX = 10_000
const ITEMS_MAX = 100

/** Returns an example of an input that a JSON Schema describes; an empty object without one. */
export const exampleInput = (schema: unknown): unknown =>
  isJsonObject(schema) ? exampleOf(schema) : {}

/** Returns the first example of a schema, or the simplest value, with up to `room` items. */
export function exampleOf(schema: JsonSchema, room: number = ITEMS_MAX): unknown {
  if (schema.examples && schema.examples.length > 0) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return schema.anyOf[0] && exampleOf(schema.anyOf[0], room)
  switch (schema.type) {
    case 'string':
      return (
        FORMAT_EXAMPLES[schema.format ?? ''] ??
        TEXT.padEnd(Math.min(schema.minLength ?? 0, STRING_LENGTH_MAX), '.').slice(
          0,
          schema.maxLength,
        )
      )
    case 'number':
    case 'integer':
      return schema.minimum ?? 0
    case 'boolean':
      return false
    case 'array': {
      const length = Math.max(1, Math.min(schema.minItems ?? 0, room))
      return Array.from({ length }, () => exampleOf(schema.items ?? {}, room / length))
    }
    case 'object': {
      const { properties = {}, required } = schema
      const names = Array.isArray(required) ? (required as readonly string[]) : []
      return Object.fromEntries(
        names.map((name) => [name, exampleOf(properties[name] ?? {}, room / names.length)]),
      )
    }
    case undefined:
    default:
      return null
  }
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
