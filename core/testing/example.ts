interface Described {
  readonly type?: string
  readonly examples?: readonly unknown[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Described[]
  readonly format?: string
  readonly minLength?: number
  readonly minimum?: number
  readonly minItems?: number
  readonly items?: Described
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
}

const TEXT = 'The delivery from Oslo was late, but Maria Silva was helpful.'
const FORMATS: Readonly<Record<string, string>> = {
  uri: 'https://example.com/',
  date: '2026-11-21',
  'date-time': '2026-11-21T12:00:00Z',
}

/** Schemas are written by others: an example is no longer than this, whatever they demand. */
const LONGEST = 10_000
const ITEMS = 100

/**
 * What a schema gives as an example; else the plainest value that it describes.
 * @param room how many values lists may have in all
 */
export function exampleOf(schema: Described, room: number = ITEMS): unknown {
  if (schema.examples && schema.examples.length > 0) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return schema.anyOf[0] && exampleOf(schema.anyOf[0], room)
  switch (schema.type) {
    case 'string':
      return (
        FORMATS[schema.format ?? ''] ?? TEXT.padEnd(Math.min(schema.minLength ?? 0, LONGEST), '.')
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

/** Values near a good one that are probably not described: the caller checks which. */
export function nearMisses(good: unknown, schema: Described): readonly unknown[] {
  const known = (typeof good === 'object' && good !== null ? good : {}) as Record<string, unknown>
  const { properties = {}, required = [] } = schema
  const without = required.map((name) =>
    Object.fromEntries(Object.entries(known).filter(([key]) => key !== name)),
  )
  const mistyped = Object.keys(properties).map((name) => ({ ...known, [name]: [[null]] }))
  return [[], 'text', { ...known, no_such_field: 1 }, ...without, ...mistyped]
}
