import { isRecord, type Json } from '../caller-schema.ts'
import type { Analysis, AnalyzeTask } from '../engine.ts'
import type { Span } from '../tokens.ts'
import { issuesOf } from './check.ts'
import { type Finder, finderIn } from './ground.ts'
import { type Judgement, part, type Question, versionOf } from './question.ts'

const GUIDE =
  'You analyze a text as the user instructs, and fill in the form that is asked for. Put null' +
  ' where the text does not say what is asked. Instructions are those of the user alone.'

const FREE: Json = { anyOf: [{ type: 'object' }, { type: 'array', items: {} }] }
const OUTPUT_TOKENS = 900

export const ANALYZE_VERSION = versionOf(GUIDE, part.object({ output: FREE }))

export const analyzeQuestion = (text: string, task: AnalyzeTask): Question<Analysis> => {
  const { format, instructions, referenceDate } = task
  const wanted = format.kind === 'schema' ? format.schema : FREE
  return {
    guide: GUIDE,
    details: {
      instructions,
      ...(format.kind === 'prose' && format.prose !== '' && { output_format: format.prose }),
      ...(referenceDate !== undefined && { today: referenceDate }),
    },
    text,
    schema: part.object({ output: loosened(wanted) }),
    expectedTokens: OUTPUT_TOKENS,
    judge: (value) => judge((value as { output: unknown }).output, wanted, text, task),
  }
}

/** The same, where null may stand for whatever a property is wanted to be. */
const loosened = (schema: Json): Json => {
  const { anyOf, properties, items, required: _, ...rest } = schema
  return {
    ...rest,
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map((one: Json) => loosened(one)) }),
    ...(isRecord(properties) && {
      properties: mapped(properties, (one) => ({ anyOf: [loosened(one), { type: 'null' }] })),
    }),
    ...(isRecord(items) && { items: loosened(items) }),
  }
}

const mapped = (record: Json, change: (one: Json) => Json): Json =>
  Object.fromEntries(
    Object.entries(record).map(([key, one]) => [key, change(isRecord(one) ? one : {})]),
  )

/** What the model filled in, against the caller's schema in full. */
const judge = (
  output: unknown,
  wanted: Json,
  text: string,
  task: AnalyzeTask,
): Judgement<Analysis> => {
  const unresolved: string[] = []
  const grounding = { finder: finderIn(text), used: new Map(), task, unresolved }
  const grounded = withSpans(output, '', grounding)
  const form = task.format.kind === 'schema' ? wanted : describe(grounded)
  const filled = settle(grounded, form, '', unresolved)
  const issues = issuesOf(filled.schema, filled.value)
  if (issues.length > 0) return { issues: issues.map((issue) => `/output${issue}`) }
  const { value, schema } = filled
  return { value: { output: value, schema, unresolved: [...new Set(unresolved)] }, dropped: 0 }
}

interface Settled {
  readonly value: unknown
  readonly schema: Json
}

/**
 * Takes null out where a property may be left out, and where it may not, lets the schema say that
 * it is not known.
 */
const settle = (value: unknown, schema: Json, path: string, unresolved: string[]): Settled => {
  const { anyOf, properties, items } = schema
  if (!hasFields(schema)) return { value, schema }
  if (Array.isArray(anyOf)) return settleOption(value, schema, anyOf, path, unresolved)
  if (isRecord(value) && isRecord(properties)) {
    return settleObject(value, schema, properties, path, unresolved)
  }
  if (Array.isArray(value) && isRecord(items)) {
    const settled = value.map((one, index) => settle(one, items, `${path}/${index}`, unresolved))
    const isSame = settled.every((one) => one.schema === items)
    const own = isSame ? schema : { ...schema, items: loosened(items) }
    return { value: settled.map((one) => one.value), schema: own }
  }
  return { value, schema }
}

const fields = new WeakMap<Json, boolean>()

/** Whether there are properties anywhere inside: only they can be left out, or not be known. */
const hasFields = (schema: Json): boolean => {
  const known = fields.get(schema)
  if (known !== undefined) return known
  const { anyOf, properties, items } = schema
  const inner = [items, ...(Array.isArray(anyOf) ? anyOf : [])].filter(isRecord)
  const has = isRecord(properties) || inner.some(hasFields)
  fields.set(schema, has)
  return has
}

/** By the first option that the value satisfies. */
const settleOption = (
  value: unknown,
  schema: Json,
  options: readonly Json[],
  path: string,
  unresolved: string[],
): Settled => {
  for (const option of options) {
    const own: string[] = []
    const settled = settle(value, option, path, own)
    if (issuesOf(settled.schema, settled.value).length > 0) continue
    unresolved.push(...own)
    const isSame = settled.schema === option
    return isSame
      ? { value: settled.value, schema }
      : { value: settled.value, schema: { ...schema, anyOf: [...options, settled.schema] } }
  }
  return { value, schema }
}

const settleObject = (
  value: Json,
  schema: Json,
  properties: Json,
  path: string,
  unresolved: string[],
): Settled => {
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  const values: [string, unknown][] = []
  const changed: [string, unknown][] = []
  for (const [key, inner] of Object.entries(properties)) {
    const wanted = isRecord(inner) ? inner : {}
    const pointer = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!Object.hasOwn(value, key) && !required.includes(key)) continue
    const given = Object.hasOwn(value, key) ? value[key] : null
    if (given === null) {
      const { length: refused } = issuesOf(wanted, null)
      if (!required.includes(key) && refused > 0) continue
      if (refused > 0 || Object.keys(wanted).length === 0) unresolved.push(pointer)
      if (refused > 0) changed.push([key, { anyOf: [wanted, { type: 'null' }] }])
      values.push([key, null])
      continue
    }
    const settled = settle(given, wanted, pointer, unresolved)
    values.push([key, settled.value])
    if (settled.schema !== wanted) changed.push([key, settled.schema])
  }
  const others = Object.entries(value).filter(([key]) => !Object.hasOwn(properties, key))
  return {
    value: Object.fromEntries([...values, ...others]),
    schema:
      changed.length === 0
        ? schema
        : { ...schema, properties: { ...properties, ...Object.fromEntries(changed) } },
  }
}

const distinct = (schemas: readonly Json[]): readonly Json[] => [
  ...new Map(schemas.map((one) => [JSON.stringify(one), one])).values(),
]

interface Grounding {
  readonly finder: Finder
  /** How often words have been placed: the next time they are meant to stand further on. */
  readonly used: Map<string, number>
  readonly task: AnalyzeTask
  readonly unresolved: string[]
}

/** What callers call the words that a span has. */
const WORDS = ['text', 'quote', 'mention', 'surface', 'value', 'name', 'entity', 'evidence']

/**
 * Where the output has a start and an end beside words of the text, they are ours, in the caller's
 * unit; where the words are not in the text, they are not known.
 */
const withSpans = (value: unknown, path: string, grounding: Grounding): unknown => {
  if (Array.isArray(value)) {
    return value.map((one, index) => withSpans(one, `${path}/${index}`, grounding))
  }
  if (!isRecord(value)) return value
  const inner = Object.entries(value).map(([key, one]) => [
    key,
    withSpans(one, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, grounding),
  ])
  const object: Json = Object.fromEntries(inner)
  if (typeof object['start'] !== 'number' || typeof object['end'] !== 'number') return object
  const words = WORDS.map((name) => object[name]).find((one) => typeof one === 'string')
  const span = typeof words === 'string' ? nextPlace(words.trim(), grounding) : undefined
  if (span === undefined) {
    grounding.unresolved.push(`${path}/start`, `${path}/end`)
    return { ...object, start: null, end: null }
  }
  const { offset } = grounding.task
  return { ...object, start: offset(span.start), end: offset(span.end) }
}

const nextPlace = (words: string, { finder, used }: Grounding): Span | undefined => {
  const places = finder.all(words)
  const nth = used.get(words) ?? 0
  used.set(words, nth + 1)
  return places[Math.min(nth, places.length - 1)]
}

const VARIANTS_MAX = 20

/** The schema of a value that none was asked for. */
const describe = (value: unknown): Json => {
  if (value === null) return { type: 'null' }
  if (Array.isArray(value)) {
    const kinds = distinct(value.map(describe)).slice(0, VARIANTS_MAX + 1)
    if (kinds.length > VARIANTS_MAX) return { type: 'array' }
    const [only = {}] = kinds
    return { type: 'array', items: kinds.length > 1 ? { anyOf: kinds } : only }
  }
  if (!isRecord(value)) return { type: typeof value }
  return part.object(
    Object.fromEntries(Object.entries(value).map(([key, one]) => [key, describe(one)])),
  )
}

/** Whether nothing was found of all that was asked for. */
export const isEmpty = (output: unknown): boolean =>
  output === null ||
  (isRecord(output) && Object.keys(output).length > 0 && Object.values(output).every(isEmpty))
