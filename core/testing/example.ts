import { hasType, isJsonObject, type JsonObject, objectMember } from '../json.ts'

interface JsonSchema {
  readonly $ref?: string
  readonly $defs?: JsonObject
  readonly type?: string | readonly string[]
  readonly examples?: readonly unknown[]
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly allOf?: readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly minItems?: number
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

const FORMAT_EXAMPLES: ReadonlyMap<unknown, string> = new Map([
  ['uri', 'https://example.com/'],
  ['date', '2026-11-21'],
  ['date-time', '2026-11-21T12:00:00Z'],
])

/** Caps of examples, whatever the schema requires. */
const STRING_LENGTH_MAX = 10_000
const ITEMS_MAX = 100
/** Nesting, and schemas read, of one example: variants and references may multiply. */
const DEPTH_MAX = 8
const STEPS_MAX = 1_000

interface Making {
  /** Maximum number of items. */
  readonly room: number
  /** Member that the value is for. */
  readonly name: string
  /** True to use placeholders for values of which the schema has no sample. */
  readonly fills: boolean
  readonly depth: number
  readonly steps: { left: number }
  readonly definitions: JsonObject
}

const newMaking = (schema: object, name: string, fills: boolean): Making => ({
  room: ITEMS_MAX,
  name,
  fills,
  depth: 0,
  steps: { left: STEPS_MAX },
  definitions: objectMember(schema as JsonObject, '$defs'),
})

/** Returns an example of an input that a JSON Schema describes; an empty object without one. */
export const exampleInput = (schema: unknown): unknown =>
  isJsonObject(schema) ? exampleOf(schema) : {}

/** Returns the first example of a schema, or the simplest value, with placeholders for texts. */
export const exampleOf = (schema: JsonSchema): unknown =>
  make(schema, newMaking(schema, 'text', true))

/**
 * Returns a value made of the examples, defaults and choices of a schema alone; undefined if it
 * lacks one for a part of the value that is required.
 */
export const sampleOf = (schema: unknown): unknown =>
  isJsonObject(schema) ? make(schema, newMaking(schema, '', false)) : undefined

function make(given: JsonSchema, making: Making): unknown {
  const nothing = making.fills ? null : undefined
  if (making.depth > DEPTH_MAX || --making.steps.left < 0) return nothing
  const { oneOf, anyOf, ...schema } = resolveParts(given, making.definitions, making.steps)
  const declared = declaredValue(schema)
  if (declared !== undefined) return declared
  for (const variant of listOf(oneOf ?? anyOf)) {
    const rest = oneOf && anyOf ? { ...schema, anyOf } : schema
    const made = make({ allOf: [rest, variant] }, { ...making, depth: making.depth + 1 })
    if (made !== undefined) return made
  }
  if (oneOf || anyOf) return nothing
  switch (typeOf(schema)) {
    case 'string':
      return (
        FORMAT_EXAMPLES.get(schema.format) ??
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
      return nothing
  }
}

/**
 * Merges the target of `$ref` and the parts of `allOf` into a schema, which may be that of a
 * stranger: keywords with invalid values are ignored.
 */
export function resolveParts(
  given: unknown,
  definitions: JsonObject = {},
  steps = { left: STEPS_MAX },
  depth = 0,
): Omit<JsonSchema, '$ref' | 'allOf'> {
  const { $ref, allOf, ...own }: JsonSchema = isJsonObject(given) ? given : {}
  if ($ref === undefined && allOf === undefined) return own
  if (depth > DEPTH_MAX || --steps.left < 0) return own
  const target = definitions[String($ref).replace('#/$defs/', '')]
  const parts = [target ?? {}, ...listOf(allOf)].map((part) =>
    resolveParts(part, definitions, steps, depth + 1),
  )
  return [own, ...parts].reduce((whole, part) => ({
    ...part,
    ...whole,
    ...((whole.properties || part.properties) && {
      properties: { ...part.properties, ...whole.properties },
    }),
    required: [...new Set([...listOf(whole.required), ...listOf(part.required)])],
  }))
}

const listOf = <T>(list: readonly T[] | undefined): readonly T[] =>
  Array.isArray(list) ? (list as readonly T[]) : []

/** First example, default or choice of a schema that its type and choices allow. */
function declaredValue({ examples, const: only, ...schema }: JsonSchema): unknown {
  const { type, enum: choices, default: usual } = schema
  const isPossible = (value: unknown): boolean =>
    value !== undefined && hasType(type, value) && isChoice(choices, value)
  return [listOf(examples)[0], only, usual, listOf(choices)[0]].find(isPossible)
}

const isChoice = (choices: unknown, value: unknown): boolean =>
  typeof value === 'object' || !Array.isArray(choices) || choices.includes(value)

const typeOf = ({ type, properties, items }: JsonSchema): string | undefined =>
  [type ?? []].flat().find((each) => each !== 'null') ??
  (properties ? 'object' : items ? 'array' : undefined)

/** `<city>`, padded and cut to the lengths of the schema. */
const placeholder = ({ minLength = 0, maxLength }: JsonSchema, { name }: Making): string =>
  `<${name}>`.padEnd(Math.min(minLength, STRING_LENGTH_MAX), '.').slice(0, maxLength)

/** Returns true for a text in place of a value of a member, of which the schema has no sample. */
export const isPlaceholder = (text: string, name: string): boolean =>
  text === `<${name}>`.padEnd(text.length, '.')

function makeList({ minItems = 0, items = {} }: JsonSchema, making: Making): unknown {
  if (minItems === 0 && making.depth === DEPTH_MAX) return []
  const length = Math.max(1, Math.min(minItems, making.room))
  const inside = { ...making, room: making.room / length, depth: making.depth + 1 }
  const list = Array.from({ length }, () => make(items, inside))
  return list.includes(undefined) ? undefined : list
}

/** Returns the required members of an input of which its schema has no sample. */
export function membersWithoutSample(schema: unknown): readonly string[] {
  if (!isJsonObject(schema)) return []
  const $defs = objectMember(schema, '$defs')
  const { properties, required } = resolveParts(schema, $defs)
  return listOf(required).filter((name) => sampleOf({ ...properties?.[name], $defs }) === undefined)
}

function makeObject(schema: JsonSchema, making: Making): unknown {
  const properties: JsonSchema['properties'] = isJsonObject(schema.properties)
    ? schema.properties
    : {}
  const names = listOf(schema.required)
  const inside = { ...making, room: making.room / names.length, depth: making.depth + 1 }
  const members = names.map((name) => {
    return [name, make(properties[name] ?? {}, { ...inside, name })] as const
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
