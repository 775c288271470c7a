import { RE2JS } from 're2js'
import { isJsonObject, type JsonObject } from '../../../json.ts'
import { KEYWORDS, PATTERN_LENGTH_MAX } from '../schemas.ts'

const TYPES: ReadonlySet<unknown> = new Set(
  'array boolean integer null number object string'.split(' '),
)
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
const isText = (value: unknown): boolean => typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0
const isNumber = (value: unknown): boolean => Number.isFinite(value)
const isSchemaList = (value: unknown): boolean => Array.isArray(value) && value.length > 0
const isSchema = (value: unknown): boolean => isBoolean(value) || isJsonObject(value)

/** Checks the values of keywords; those of other keywords may be anything. */
const CHECKS: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...names('title description format contentMediaType contentEncoding', isText),
  ...names('deprecated readOnly writeOnly uniqueItems', isBoolean),
  ...names('minLength maxLength minItems maxItems minProperties maxProperties', isCount),
  ...names('minContains maxContains', isCount),
  ...names('minimum maximum exclusiveMinimum exclusiveMaximum', isNumber),
  ...names('anyOf oneOf allOf prefixItems', isSchemaList),
  ...names('properties patternProperties dependentSchemas dependentRequired', isJsonObject),
  ...names('items additionalProperties not contains propertyNames if then else', isSchema),
  ...names('unevaluatedItems unevaluatedProperties', isSchema),
  multipleOf: (value) => Number.isFinite(value) && Number(value) > 0,
  examples: (value) => Array.isArray(value),
}

function names(list: string, check: (value: unknown) => boolean) {
  return Object.fromEntries(list.split(' ').map((name) => [name, check]))
}

/** Schema keywords that constrain nothing. */
const ANNOTATIONS: ReadonlySet<string> = new Set(
  'title description default examples deprecated readOnly writeOnly'.split(' '),
)

/**
 * Reduces one level of a schema to the keywords of JSON Schema 2020-12 with valid values. Older
 * forms (a list of `items`, numbers as text, repeated `enum` values) are translated.
 * @param report receives keywords that cannot be honored
 */
export function validKeywords(
  schema: JsonObject,
  report: (what: string) => void,
  annotated: boolean,
): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const [key, given] of Object.entries(translated(schema))) {
    if (!KEYWORDS.has(key) || (!annotated && ANNOTATIONS.has(key))) continue
    const value = CHECKS[key] === isNumber || CHECKS[key] === isCount ? asNumber(given) : given
    if (CHECKS[key]?.(value) === false) {
      if (!ANNOTATIONS.has(key)) report(`the value of ${key} is invalid; it is ignored`)
    } else out[key] = value
  }
  readTypes(out, report)
  readLists(out)
  dropUnsupportedPatterns(out, report)
  return out
}

/** Translates tuples of earlier drafts, and numbers of a boolean `exclusiveMinimum`. */
function translated(schema: JsonObject): JsonObject {
  const out: Record<string, unknown> = { ...schema }
  if (Array.isArray(schema['items'])) {
    out['items'] = schema['additionalItems']
    if (schema['items'].length > 0) out['prefixItems'] = schema['items']
    if (out['items'] === undefined) delete out['items']
  }
  for (const [exclusive, inclusive] of BOUNDS) {
    if (typeof schema[exclusive] !== 'boolean') continue
    delete out[exclusive]
    if (!schema[exclusive] || schema[inclusive] === undefined) continue
    out[exclusive] = schema[inclusive]
    delete out[inclusive]
  }
  return out
}

const BOUNDS = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const

const asNumber = (value: unknown): unknown =>
  typeof value === 'string' && value.trim() !== '' ? Number(value) : value

function readTypes(out: Record<string, unknown>, report: (what: string) => void): void {
  if (out['type'] === undefined) return
  const types = [out['type']].flat(2)
  const known = [...new Set(types.filter((type) => TYPES.has(type)))]
  delete out['type']
  if (known.length < new Set(types).size)
    return report(`the type ${JSON.stringify(types)} is unknown`)
  out['type'] = known.length === 1 ? known[0] : known
}

function readLists(out: Record<string, unknown>): void {
  const { required, enum: values } = out
  if (required !== undefined) {
    const texts = Array.isArray(required) ? [...new Set(required.filter(isText))] : []
    if (texts.length > 0) out['required'] = texts
    else delete out['required']
  }
  if (values === undefined) return
  const distinct = Array.isArray(values)
    ? [...new Map(values.map((value) => [JSON.stringify(value), value as unknown])).values()]
    : []
  if (distinct.length > 0) out['enum'] = distinct
  else delete out['enum']
}

function dropUnsupportedPatterns(
  out: Record<string, unknown>,
  report: (what: string) => void,
): void {
  const isSupported = (pattern: unknown): boolean => {
    const problem = patternProblem(pattern)
    if (problem !== undefined) report(`the pattern is ignored: ${problem}`)
    return problem === undefined
  }
  if (out['pattern'] !== undefined && !isSupported(out['pattern'])) delete out['pattern']
  if (!isJsonObject(out['patternProperties'])) return
  const entries = Object.entries(out['patternProperties'])
  const kept = entries.filter(([pattern]) => isSupported(pattern))
  out['patternProperties'] = Object.fromEntries(kept)
  // Names that only an ignored pattern admits must not be refused.
  if (kept.length < entries.length && out['additionalProperties'] === false)
    delete out['additionalProperties']
}

function patternProblem(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string') return 'it is no text'
  if (pattern.length > PATTERN_LENGTH_MAX) return `more than ${PATTERN_LENGTH_MAX} characters`
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    return (error as Error).message.slice(0, 100)
  }
}
