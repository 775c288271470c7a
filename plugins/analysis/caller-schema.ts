import { Refusal } from 'agenthub/plugin'

/**
 * The JSON Schema that a caller's `output_format` means. A stranger's schema is never run as it
 * is: patterns can take seconds, references can lead away or grow without bounds. What comes out
 * of here has the keywords of `KEPT` alone, no references, and the sizes of `LIMITS`.
 */
export type Json = Readonly<Record<string, unknown>>

export interface CallerSchema {
  readonly schema: Json
  /** Keywords that the caller used and that are not kept, sorted. */
  readonly ignored: readonly string[]
}

/** Of `output_format`: its bytes, the levels and the properties of what it describes. */
export const LIMITS = { bytes: 16_384, depth: 8, properties: 200 } as const
const KINDS = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const
const LIST_MAX = 200

export const refuse = (detail: string): Refusal => new Refusal('invalid_output_format', detail)

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Reading {
  /** Of the document's root: what `#/$defs/name` refers to. */
  readonly defs: ReadonlyMap<string, unknown>
  readonly ignored: Set<string>
  left: number
}

/** @throws Refusal `invalid_output_format` for what is malformed, too deep or too large */
export const readSchema = (root: Json): CallerSchema => {
  const named = { ...definitionsOf(root, 'definitions'), ...definitionsOf(root, '$defs') }
  const reading: Reading = {
    defs: new Map(Object.entries(named)),
    ignored: new Set(),
    left: LIMITS.properties,
  }
  const schema = read(root, { reading, depth: 0, within: [] })
  return { schema, ignored: [...reading.ignored].sort() }
}

const definitionsOf = (root: Json, name: string): Json => {
  const value = root[name] ?? {}
  if (!isRecord(value)) throw refuse(`${name} must be an object.`)
  return value
}

interface Place {
  readonly reading: Reading
  readonly depth: number
  /** References that lead here: none of them may come again. */
  readonly within: readonly string[]
}

const read = (given: unknown, place: Place): Json => {
  if (given === true) return {}
  if (!isRecord(given)) throw refuse('A schema must be an object.')
  if (place.depth > LIMITS.depth) throw tooDeep()
  if (given['$ref'] !== undefined) return referred(given['$ref'], place)
  const kept: [string, unknown][] = []
  for (const [keyword, value] of Object.entries(given)) {
    const keep = Object.hasOwn(KEPT, keyword) ? KEPT[keyword] : undefined
    if (keep !== undefined) kept.push(keep(value, place))
    else if (!SILENT.has(keyword)) place.reading.ignored.add(keyword.slice(0, 40))
  }
  return Object.fromEntries(kept)
}

export const tooDeep = (): Refusal =>
  refuse(`output_format may be ${LIMITS.depth} levels deep at most.`)

/** What is referred to stands in its place; what leads away, or back to itself, may be anything. */
const referred = (ref: unknown, { reading, depth, within }: Place): Json => {
  const [, name] = /^#\/(?:\$defs|definitions)\/([^/~%]{1,200})$/.exec(String(ref)) ?? []
  if (name === undefined || !reading.defs.has(name) || within.includes(name)) {
    reading.ignored.add('$ref')
    return {}
  }
  spend(reading, 1)
  return read(reading.defs.get(name), { reading, depth, within: [...within, name] })
}

/** Each property, option and reference counts, wherever it comes up again. */
const spend = (reading: Reading, count: number): void => {
  reading.left -= count
  if (reading.left < 0) {
    throw refuse(`output_format may have ${LIMITS.properties} properties at most.`)
  }
}

const deeper = (place: Place): Place => ({ ...place, depth: place.depth + 1 })

/** Say nothing about a value, or are read elsewhere. */
const SILENT = new Set(['$schema', '$id', '$defs', 'definitions', '$comment', 'title', 'examples'])

type Keep = (value: unknown, place: Place) => [keyword: string, kept: unknown]

const options: Keep = (value, place) => {
  const listed = listOf('anyOf', value)
  spend(place.reading, listed.length)
  return ['anyOf', listed.map((one) => read(one, place))]
}

const limit =
  (keyword: string): Keep =>
  (value) => {
    if (typeof value === 'number' && Number.isFinite(value)) return [keyword, value]
    throw refuse(`${keyword} must be a number.`)
  }

const KEPT: Readonly<Record<string, Keep>> = {
  type: (value) => {
    const listed = Array.isArray(value) ? value : [value]
    const known = listed.every((one) => KINDS.some((kind) => kind === one))
    if (!known || listed.length === 0) throw refuse(`A type must be one of ${KINDS.join(', ')}.`)
    return ['type', value]
  },
  properties: (value, place) => {
    if (!isRecord(value)) throw refuse('properties must be an object.')
    const entries = Object.entries(value)
    spend(place.reading, entries.length)
    const inner = deeper(place)
    return ['properties', Object.fromEntries(entries.map(([key, one]) => [key, read(one, inner)]))]
  },
  required: (value) => {
    const names = listOf('required', value)
    if (names.every((name) => typeof name === 'string')) return ['required', [...new Set(names)]]
    throw refuse('required must be a list of names.')
  },
  additionalProperties: (value, place) => [
    'additionalProperties',
    typeof value === 'boolean' ? value : read(value, deeper(place)),
  ],
  items: (value, place) => ['items', read(value, deeper(place))],
  enum: (value) => ['enum', listOf('enum', value).map(primitive)],
  const: (value) => ['enum', [primitive(value)]],
  anyOf: options,
  oneOf: options,
  description: (value) => ['description', String(value).slice(0, 2_000)],
  minItems: limit('minItems'),
  maxItems: limit('maxItems'),
  minimum: limit('minimum'),
  maximum: limit('maximum'),
}

const listOf = (keyword: string, value: unknown): readonly unknown[] => {
  if (Array.isArray(value) && value.length > 0 && value.length <= LIST_MAX) return value
  if (keyword === 'required' && Array.isArray(value) && value.length === 0) return value
  throw refuse(`${keyword} must be a list of 1 to ${LIST_MAX}.`)
}

const primitive = (value: unknown): unknown => {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value
  throw refuse('The values of an enum must be strings, numbers, booleans or null.')
}
