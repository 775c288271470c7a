import * as fc from 'fast-check'

/** Subset of JSON Schema 2020-12 that the hub's document uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** URLs without a listener and names that do not resolve. */
const URLS = [
  'http://127.0.0.1:1/',
  'https://nowhere.invalid/a',
  'http://[::1]/',
  'ftp://x',
  'no url',
]
const DATES = ['2026-11-21T12:00:00Z', '2027-01-01T00:00:00.000Z', '2026-02-30T00:00:00Z', 'today']
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  uri: URLS,
  'date-time': DATES,
  date: ['2026-11-21', '2026-13-01'],
  email: ['a@example.com', 'a@b', '"@"@example.com'],
  uuid: ['019e0000-0000-7000-8000-000000000000', 'no uuid'],
}

const LENGTH_MAX = 40
const anyText = fc.oneof(fc.string({ maxLength: LENGTH_MAX }), fc.string({ unit: 'binary' }))

function text({ format, pattern, minLength = 0, maxLength = LENGTH_MAX }: Schema) {
  const most = Math.max(minLength, Math.min(maxLength, LENGTH_MAX))
  const plain = fc.string({ minLength, maxLength: most })
  const formatted = FORMATS[format ?? '']
  if (formatted) return fc.oneof(fc.constantFrom(...formatted), plain)
  return pattern === undefined
    ? plain
    : fc.oneof({ weight: 4, arbitrary: matching(pattern) }, plain)
}

/** Generates strings matching the pattern; any string if fast-check cannot parse it. */
function matching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern, 'u'), { maxLength: LENGTH_MAX * 4 })
  } catch {
    return anyText
  }
}

const MAX_SAFE = Number.MAX_SAFE_INTEGER

function ofType(type: string | undefined, schema: Schema): fc.Arbitrary<unknown> {
  const { minimum = -MAX_SAFE, maximum = MAX_SAFE } = schema
  switch (type) {
    case 'string':
      return text(schema)
    case 'integer':
      return fc.maxSafeInteger().map((n) => Math.min(maximum, Math.max(minimum, n % 1_000_000)))
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 4 } = schema
      const maxLength = Math.max(minItems, Math.min(maxItems, 4))
      return fc.array(nearlyValid(items), { minLength: minItems, maxLength })
    }
    case 'object': {
      const { properties = {}, required = [] } = schema
      const members = Object.entries(properties).map(([name, inner]) => [name, nearlyValid(inner)])
      const requiredKeys = required.filter((name) => name in properties)
      return fc.record(Object.fromEntries(members) as Record<string, fc.Arbitrary<unknown>>, {
        requiredKeys,
        noNullPrototype: true,
      })
    }
    case undefined:
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

/** Generates values that are valid or nearly valid for a schema. */
function nearlyValid(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map(nearlyValid))
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [undefined])
  return fc.oneof(...types.map((type) => ofType(type, schema)))
}

const ARBITRARY = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  anyText,
  fc.constantFrom<unknown>(null, -1, 0.5, 1e21, 2 ** 53, '', '\0', '\ud800', [], {}, [[[[]]]], {
    __proto__: null,
    toString: 1,
  }),
)

/** Generates the same value with one member changed, removed or added. */
const mutated = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(value, fc.nat(), ARBITRARY, fc.constantFrom('change', 'drop', 'add'))
    .map(([good, place, strange, how]) => {
      if (typeof good !== 'object' || good === null || Array.isArray(good)) return strange
      const names = Object.keys(good)
      if (how === 'add' || names.length === 0) return { ...good, no_such_member: strange }
      const name = names[place % names.length]!
      if (how === 'change') return { ...good, [name]: strange }
      return Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))
    })

/** Generates mostly valid, often nearly valid and sometimes arbitrary values. */
export const fuzzedValue = (schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 5, arbitrary: nearlyValid(schema) },
    { weight: 4, arbitrary: mutated(nearlyValid(schema)) },
    { weight: 1, arbitrary: ARBITRARY },
  )
