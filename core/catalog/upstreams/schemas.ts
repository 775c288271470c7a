import { isJsonObject, type JsonObject } from '../../json.ts'
import { compile, type Issue } from '../../plugin/validate.ts'

/** Limits of a foreign JSON Schema, because compiling it costs the hub memory and time. */
export const BYTES_MAX = 65_536
const DEPTH_MAX = 24
const NODES_MAX = 2_000
/** Schemas in all of a service: to compile one takes up to a millisecond, in which all wait. */
const SERVICE_MAX = 2_500
/** Patterns in all of a service: to compile one takes a millisecond or two. */
const PATTERNS_MAX = 200
const PATTERN_LENGTH = 500
/** Two of so many are compared each with each. */
const UNIQUE_MAX = 1_000

/** Keywords whose value is one schema, a list of them, or a map of them. */
const ONE = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames'] as const
const LIST = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const
const MAP = ['properties', 'patternProperties'] as const
const PLAIN = (
  'type enum const title description default examples deprecated readOnly writeOnly ' +
  'format pattern minLength maxLength minimum maximum exclusiveMinimum ' +
  'exclusiveMaximum multipleOf minItems maxItems uniqueItems minProperties ' +
  'maxProperties required contentMediaType'
).split(' ')

export const KEYWORDS: ReadonlySet<string> = new Set([...ONE, ...LIST, ...MAP, ...PLAIN])

/** What the schemas of a service may still have, together. */
export interface Budget {
  schemas: number
  patterns: number
}

export const budget = (): Budget => ({ schemas: SERVICE_MAX, patterns: PATTERNS_MAX })

/** Takes the patterns of one level of a schema off. @returns what is wrong with them */
export function takePatterns(
  { pattern, patternProperties }: JsonObject,
  left: Pick<Budget, 'patterns'>,
): string | undefined {
  const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : []
  const patterns = typeof pattern === 'string' ? [...names, pattern] : names
  left.patterns -= patterns.length
  if (left.patterns < 0) return `more than ${PATTERNS_MAX} patterns in one service`
  const long = patterns.some(({ length }) => length > PATTERN_LENGTH)
  return long ? `a pattern has more than ${PATTERN_LENGTH} characters` : undefined
}

/** The schemas inside of a schema, with their places. */
export const inner = (
  schema: JsonObject,
): readonly (readonly [place: string, schema: unknown])[] => [
  ...ONE.flatMap((key) => (isJsonObject(schema[key]) ? [[key, schema[key]] as const] : [])),
  ...LIST.flatMap((key) =>
    Array.isArray(schema[key])
      ? schema[key].map((each: unknown, i) => [`${key}/${i}`, each] as const)
      : [],
  ),
  ...MAP.flatMap((key) =>
    isJsonObject(schema[key])
      ? Object.entries(schema[key]).map(([name, each]) => [`${key}/${name}`, each] as const)
      : [],
  ),
]

/**
 * What is wrong with a schema that somebody publishes. It refers to nothing, so that it is as large
 * as it looks; its patterns run in linear time (RE2), and no list is compared with itself. Whether
 * it can be compiled is not tried.
 * @param left what its service may still have; what it has is taken off
 */
export function schemaIssues(schema: unknown, at: string, left: Budget): readonly Issue[] {
  if (!isJsonObject(schema)) return [{ path: at, message: 'is no JSON Schema: an object' }]
  if (Buffer.byteLength(JSON.stringify(schema)) > BYTES_MAX) {
    return [{ path: at, message: `has more than ${BYTES_MAX} bytes` }]
  }
  const issues: Issue[] = []
  let nodes = 0
  const visit = (node: unknown, path: string, depth: number): void => {
    if (issues.length > 0 || typeof node === 'boolean') return
    const complain = (message: string): void => void issues.push({ path, message })
    if (!isJsonObject(node)) return complain('is no schema')
    if (++nodes > NODES_MAX) return complain(`more than ${NODES_MAX} schemas in one`)
    if (--left.schemas < 0) return complain(`more than ${SERVICE_MAX} schemas in one service`)
    if (depth > DEPTH_MAX) return complain(`is nested more than ${DEPTH_MAX} deep`)
    const unknown = Object.keys(node).find((key) => !KEYWORDS.has(key))
    if (unknown !== undefined) return complain(`${unknown} is not taken here`)
    const patterns = takePatterns(node, left)
    if (patterns !== undefined) return complain(patterns)
    const { uniqueItems, maxItems } = node
    if (uniqueItems === true && !(Number(maxItems) <= UNIQUE_MAX)) {
      return complain(`uniqueItems needs a maxItems of at most ${UNIQUE_MAX}`)
    }
    for (const [place, each] of inner(node)) visit(each, `${path}/${place}`, depth + 1)
  }
  visit(schema, at, 0)
  return issues
}

/** Why it cannot be checked by: for one, a pattern that RE2 does not have. */
export function compileError(schema: JsonObject): string | undefined {
  try {
    compile({ json: schema })
    return undefined
  } catch (error) {
    return (error as Error).message.slice(0, 200)
  }
}

/** A schema of a service, and where it stands. */
export interface Placed {
  readonly at: string
  readonly schema: JsonObject
}

/** The first schema that cannot be checked by. */
export function compileIssues(schemas: readonly Placed[]): readonly Issue[] {
  for (const { at, schema } of schemas) {
    const wrong = compileError(schema)
    if (wrong !== undefined) return [{ path: at, message: wrong }]
  }
  return []
}
