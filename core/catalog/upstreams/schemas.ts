import { isJsonObject, type JsonObject } from '../../json.ts'
import { patternsOf, subschemas } from '../../plugin/schema-cost.ts'
import { compile, findSchemaError, type Issue } from '../../plugin/validate.ts'

/** Limits of a foreign JSON Schema, because compiling it costs the hub memory and time. */
export const SCHEMA_BYTES_MAX = 65_536
const SCHEMA_DEPTH_MAX = 24
const SCHEMA_NODES_MAX = 2_000
/** Schemas per service, including definitions. */
const SERVICE_SCHEMAS_MAX = 20_000
/** Patterns per service; compiling one takes one or two milliseconds. */
const SERVICE_PATTERNS_MAX = 1_000
export const PATTERN_LENGTH_MAX = 500

/** Keywords that a provider's schema may have. */
export const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'items additionalProperties not contains propertyNames anyOf oneOf allOf prefixItems ' +
    'properties patternProperties type enum const title description default examples ' +
    'deprecated readOnly writeOnly format pattern minLength maxLength minimum maximum ' +
    'exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems ' +
    'minProperties maxProperties required contentMediaType contentEncoding if then else ' +
    'dependentSchemas dependentRequired minContains maxContains unevaluatedItems ' +
    'unevaluatedProperties $ref $defs'
  ).split(' '),
)

/** Remaining schemas and patterns for the schemas of one service. */
export interface SchemaBudget {
  schemas: number
  patterns: number
}

export const newSchemaBudget = (): SchemaBudget => ({
  schemas: SERVICE_SCHEMAS_MAX,
  patterns: SERVICE_PATTERNS_MAX,
})

/** Subtracts the patterns of one schema level from the budget. @returns an issue, if any */
export function countPatterns(
  schema: JsonObject,
  left: Pick<SchemaBudget, 'patterns'>,
): string | undefined {
  const patterns = patternsOf(schema)
  left.patterns -= patterns.length
  if (left.patterns < 0) return `more than ${SERVICE_PATTERNS_MAX} patterns in one service`
  const long = patterns.some(({ length }) => length > PATTERN_LENGTH_MAX)
  return long ? `a pattern has more than ${PATTERN_LENGTH_MAX} characters` : undefined
}

/**
 * Finds issues in a provider's schema without compiling it. A `$ref` must point to `$defs` of the
 * same schema, so that its size is what it seems; patterns run in linear time (RE2).
 * @param left budget of its service, reduced by this schema
 */
export function findSchemaIssues(
  schema: unknown,
  at: string,
  left: SchemaBudget,
): readonly Issue[] {
  if (!isJsonObject(schema)) return [{ path: at, message: 'must be a JSON Schema object' }]
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES_MAX) {
    return [{ path: at, message: `has more than ${SCHEMA_BYTES_MAX} bytes` }]
  }
  const issues: Issue[] = []
  let nodes = 0
  const visit = (node: unknown, path: string, depth: number): void => {
    if (issues.length > 0 || typeof node === 'boolean') return
    const report = (message: string): void => void issues.push({ path, message })
    if (!isJsonObject(node)) return report('must be a schema')
    if (++nodes > SCHEMA_NODES_MAX) return report(`more than ${SCHEMA_NODES_MAX} schemas in one`)
    if (--left.schemas < 0) return report(`more than ${SERVICE_SCHEMAS_MAX} schemas in one service`)
    if (depth > SCHEMA_DEPTH_MAX) return report(`is nested more than ${SCHEMA_DEPTH_MAX} deep`)
    const unknown = Object.keys(node).find((key) => !KEYWORDS.has(key))
    if (unknown !== undefined) return report(`${unknown} is not taken here`)
    const patterns = countPatterns(node, left)
    if (patterns !== undefined) return report(patterns)
    if ('$ref' in node && !isDefined(schema, node['$ref'])) {
      return report('$ref must be #/$defs/NAME with a member of $defs at the top')
    }
    if ('$defs' in node && depth > 0) return report('$defs belongs at the top')
    for (const [place, each] of subschemas(node)) visit(each, `${path}/${place}`, depth + 1)
  }
  visit(schema, at, 0)
  return issues
}

const isDefined = ({ $defs }: JsonObject, ref: unknown): boolean =>
  typeof ref === 'string' &&
  ref.startsWith('#/$defs/') &&
  isJsonObject($defs) &&
  Object.hasOwn($defs, ref.slice('#/$defs/'.length))

/** Returns why a schema is invalid, or cannot be compiled, as a pattern that RE2 lacks. */
function compileError(schema: JsonObject): string | undefined {
  const wrong = findSchemaError(schema)
  if (wrong !== undefined) return wrong.slice(0, 200)
  try {
    compile({ json: schema })
    return undefined
  } catch (error) {
    return (error as Error).message.slice(0, 200)
  }
}

/** Schema of a service with its location. */
export interface LocatedSchema {
  readonly at: string
  readonly schema: JsonObject
}

/** Reports the first schema that cannot be compiled. */
export function findCompileIssues(schemas: readonly LocatedSchema[]): readonly Issue[] {
  for (const { at, schema } of schemas) {
    const message = compileError(schema)
    if (message !== undefined) return [{ path: at, message }]
  }
  return []
}
