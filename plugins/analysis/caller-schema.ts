import { Refusal } from 'agenthub/plugin'

/**
 * Restricts the JSON Schema of a caller's `output_format`. Schemas of strangers are never used
 * directly: patterns can take seconds, references can lead elsewhere or expand without bounds. The
 * result has only the keywords of `KEYWORD_READERS`, no references, and the sizes of `LIMITS`.
 */
export type Json = Readonly<Record<string, unknown>>

export interface CallerSchema {
  readonly schema: Json
  /** Unsupported keywords in the caller's schema, sorted. */
  readonly ignored: readonly string[]
}

/** Limits of `output_format`: bytes, levels and properties. */
export const LIMITS = { bytes: 16_384, depth: 8, properties: 200 } as const
const KINDS = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const
const LIST_MAX = 200

export const invalidFormat = (detail: string): Refusal =>
  new Refusal('invalid_output_format', detail)

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface SchemaReader {
  /** Definitions of the document root, the targets of `#/$defs/name`. */
  readonly defs: ReadonlyMap<string, unknown>
  readonly ignored: Set<string>
  propertiesLeft: number
}

/** @throws Refusal `invalid_output_format` if the schema is malformed, too deep or too large */
export const readSchema = (root: Json): CallerSchema => {
  const named = { ...definitionsOf(root, 'definitions'), ...definitionsOf(root, '$defs') }
  const reader: SchemaReader = {
    defs: new Map(Object.entries(named)),
    ignored: new Set(),
    propertiesLeft: LIMITS.properties,
  }
  const schema = read(root, { reader, depth: 0, refs: [] })
  return { schema, ignored: [...reader.ignored].sort() }
}

const definitionsOf = (root: Json, name: string): Json => {
  const value = root[name] ?? {}
  if (!isRecord(value)) throw invalidFormat(`${name} must be an object.`)
  return value
}

interface ReadContext {
  readonly reader: SchemaReader
  readonly depth: number
  /** References followed so far; none of them may repeat. */
  readonly refs: readonly string[]
}

const read = (schema: unknown, context: ReadContext): Json => {
  if (schema === true) return {}
  if (!isRecord(schema)) throw invalidFormat('A schema must be an object.')
  if (context.depth > LIMITS.depth) throw tooDeep()
  if (schema['$ref'] !== undefined) return resolveRef(schema['$ref'], context)
  const result: [string, unknown][] = []
  for (const [keyword, value] of Object.entries(schema)) {
    const readKeyword = Object.hasOwn(KEYWORD_READERS, keyword)
      ? KEYWORD_READERS[keyword]
      : undefined
    const read = readKeyword?.(value, context)
    if (read !== undefined) result.push(read)
    else if (!SKIPPED.has(keyword)) context.reader.ignored.add(keyword.slice(0, 40))
  }
  return Object.fromEntries(result)
}

export const tooDeep = (): Refusal =>
  invalidFormat(`output_format may be ${LIMITS.depth} levels deep at most.`)

/** Inlines a reference. One that is external or recursive allows any value. */
const resolveRef = (ref: unknown, { reader, depth, refs }: ReadContext): Json => {
  const [, name] = /^#\/(?:\$defs|definitions)\/([^/~%]{1,200})$/.exec(String(ref)) ?? []
  if (name === undefined || !reader.defs.has(name) || refs.includes(name)) {
    reader.ignored.add('$ref')
    return {}
  }
  countProperties(reader, 1)
  return read(reader.defs.get(name), { reader, depth, refs: [...refs, name] })
}

/** Counts properties, options and references against the limit, each time they occur. */
const countProperties = (reader: SchemaReader, count: number): void => {
  reader.propertiesLeft -= count
  if (reader.propertiesLeft < 0) {
    throw invalidFormat(`output_format may have ${LIMITS.properties} properties at most.`)
  }
}

const deeper = (context: ReadContext): ReadContext => ({ ...context, depth: context.depth + 1 })

/** Keywords without constraints, or read elsewhere; not reported as ignored. */
const SKIPPED = new Set(['$schema', '$id', '$defs', 'definitions', '$comment', 'title', 'examples'])

/** Returns undefined to ignore the keyword. */
type KeywordReader = (
  value: unknown,
  context: ReadContext,
) => [keyword: string, result: unknown] | undefined

const options: KeywordReader = (value, context) => {
  const listed = listOf('anyOf', value)
  countProperties(context.reader, listed.length)
  return ['anyOf', listed.map((one) => read(one, context))]
}

const limit =
  (keyword: string): KeywordReader =>
  (value) => {
    if (typeof value === 'number' && Number.isFinite(value)) return [keyword, value]
    throw invalidFormat(`${keyword} must be a number.`)
  }

const KEYWORD_READERS: Readonly<Record<string, KeywordReader>> = {
  type: (value) => {
    const listed = Array.isArray(value) ? value : [value]
    const known = listed.every((one) => KINDS.some((kind) => kind === one))
    if (!known || listed.length === 0)
      throw invalidFormat(`A type must be one of ${KINDS.join(', ')}.`)
    return ['type', value]
  },
  properties: (value, context) => {
    if (!isRecord(value)) throw invalidFormat('properties must be an object.')
    const entries = Object.entries(value)
    countProperties(context.reader, entries.length)
    const inner = deeper(context)
    return ['properties', Object.fromEntries(entries.map(([key, one]) => [key, read(one, inner)]))]
  },
  required: (value) => {
    const names = listOf('required', value)
    if (names.every((name) => typeof name === 'string')) return ['required', [...new Set(names)]]
    throw invalidFormat('required must be a list of names.')
  },
  additionalProperties: (value, context) => [
    'additionalProperties',
    typeof value === 'boolean' ? value : read(value, deeper(context)),
  ],
  items: (value, context) => ['items', read(value, deeper(context))],
  enum: (value) => ['enum', listOf('enum', value).map(primitive)],
  const: (value) => ['enum', [primitive(value)]],
  anyOf: options,
  oneOf: options,
  format: (value) => (value === 'date' ? ['format', value] : undefined),
  description: (value) => ['description', String(value).slice(0, 2_000)],
  minItems: limit('minItems'),
  maxItems: limit('maxItems'),
  minimum: limit('minimum'),
  maximum: limit('maximum'),
}

const listOf = (keyword: string, value: unknown): readonly unknown[] => {
  if (Array.isArray(value) && value.length > 0 && value.length <= LIST_MAX) return value
  if (keyword === 'required' && Array.isArray(value) && value.length === 0) return value
  throw invalidFormat(`${keyword} must be a list of 1 to ${LIST_MAX}.`)
}

const primitive = (value: unknown): unknown => {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value
  throw invalidFormat('The values of an enum must be strings, numbers, booleans or null.')
}
