import { hasType, isJsonObject, type JsonObject } from '../../../json.ts'

/** Characters of JSON; larger examples are left out. */
const EXAMPLE_MAX = 1_000

/** Adds the example of a parameter to its schema, unless that has samples of its own. */
export function withExample(schema: JsonObject, parameter: JsonObject): JsonObject {
  const value = exampleIn(parameter)
  return value === undefined ? schema : withSample(schema, value)
}

/** Adds the example of a media type to the schema of its body, or to the members of that. */
export function withBodyExample(schema: JsonObject, media: JsonObject): JsonObject {
  const value = exampleIn(media)
  const { properties } = schema
  if (value === undefined) return schema
  if (!isJsonObject(properties) || !isJsonObject(value)) return withSample(schema, value)
  const members = Object.entries(properties).map(([name, member]) => {
    const sample = Object.hasOwn(value, name) ? value[name] : undefined
    const isReplaced = isJsonObject(member) && sample !== undefined
    return [name, isReplaced ? withSample(member, sample) : member] as const
  })
  return { ...schema, properties: Object.fromEntries(members) }
}

/** Value of `example`, or the first of `examples`, which is a list or has values by name. */
function exampleIn({ example, examples }: JsonObject): unknown {
  if (example !== undefined) return example
  if (Array.isArray(examples)) return examples[0]
  const [first] = isJsonObject(examples) ? Object.values(examples) : []
  return isJsonObject(first) ? first['value'] : undefined
}

const SAMPLES = ['examples', 'default', 'const', 'enum'] as const

function withSample(schema: JsonObject, value: unknown): JsonObject {
  const isKnown = SAMPLES.some((keyword) => schema[keyword] !== undefined)
  const isSmall = JSON.stringify(value).length <= EXAMPLE_MAX
  return isKnown || !isSmall || !hasType(schema['type'], value)
    ? schema
    : { ...schema, examples: [value] }
}
