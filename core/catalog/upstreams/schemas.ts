import { compile, type Issue } from '../../validate.ts'

/** A JSON Schema of somebody's: it costs the hub memory and time, so it has limits. */
export type Json = Readonly<Record<string, unknown>>

export const BYTES_MAX = 65_536
const DEPTH_MAX = 24
const NODES_MAX = 2_000
/** Schemas in all of a service: to compile one takes up to a millisecond, in which all wait. */
export const SERVICE_MAX = 2_500
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

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The schemas inside of a schema, with their places. */
export const inner = (schema: Json): readonly (readonly [place: string, schema: unknown])[] => [
  ...ONE.flatMap((key) => (isObject(schema[key]) ? [[key, schema[key]] as const] : [])),
  ...LIST.flatMap((key) =>
    Array.isArray(schema[key])
      ? schema[key].map((each: unknown, i) => [`${key}/${i}`, each] as const)
      : [],
  ),
  ...MAP.flatMap((key) =>
    isObject(schema[key])
      ? Object.entries(schema[key]).map(([name, each]) => [`${key}/${name}`, each] as const)
      : [],
  ),
]

/**
 * What is wrong with a schema that somebody publishes. It refers to nothing, so that it is as large
 * as it looks; its patterns run in linear time (RE2), and no list is compared with itself.
 * @param left how many schemas its service may still have; what it has is taken off
 */
export function schemaIssues(
  schema: unknown,
  at: string,
  left: { schemas: number },
): readonly Issue[] {
  if (!isObject(schema)) return [{ path: at, message: 'is no JSON Schema: an object' }]
  if (Buffer.byteLength(JSON.stringify(schema)) > BYTES_MAX) {
    return [{ path: at, message: `has more than ${BYTES_MAX} bytes` }]
  }
  const issues: Issue[] = []
  let nodes = 0
  const visit = (node: unknown, path: string, depth: number): void => {
    if (issues.length > 0 || typeof node === 'boolean') return
    const complain = (message: string): void => void issues.push({ path, message })
    if (!isObject(node)) return complain('is no schema')
    if (++nodes > NODES_MAX) return complain(`more than ${NODES_MAX} schemas in one`)
    if (--left.schemas < 0) return complain(`more than ${SERVICE_MAX} schemas in one service`)
    if (depth > DEPTH_MAX) return complain(`is nested more than ${DEPTH_MAX} deep`)
    const unknown = Object.keys(node).find((key) => !KEYWORDS.has(key))
    if (unknown !== undefined) return complain(`${unknown} is not taken here`)
    const { uniqueItems, maxItems } = node
    if (uniqueItems === true && !(Number(maxItems) <= UNIQUE_MAX)) {
      return complain(`uniqueItems needs a maxItems of at most ${UNIQUE_MAX}`)
    }
    for (const [place, each] of inner(node)) visit(each, `${path}/${place}`, depth + 1)
  }
  visit(schema, at, 0)
  if (issues.length > 0) return issues
  const wrong = compileError(schema)
  return wrong === undefined ? [] : [{ path: at, message: wrong }]
}

/** Why it cannot be checked by: for one, a pattern that RE2 does not have. */
export function compileError(schema: Json): string | undefined {
  try {
    compile({ json: schema })
    return undefined
  } catch (error) {
    return (error as Error).message.slice(0, 200)
  }
}
