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

/** What a schema gives as an example; else the plainest value that it describes. */
export function exampleOf(schema: Described): unknown {
  if (schema.examples && schema.examples.length > 0) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return schema.anyOf[0] && exampleOf(schema.anyOf[0])
  switch (schema.type) {
    case 'string':
      return FORMATS[schema.format ?? ''] ?? TEXT.padEnd(schema.minLength ?? 0, '.')
    case 'number':
    case 'integer':
      return schema.minimum ?? 0
    case 'boolean':
      return false
    case 'array':
      return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () =>
        exampleOf(schema.items ?? {}),
      )
    case 'object': {
      const { properties = {}, required = [] } = schema
      return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]))
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
