import { isJsonObject, type JsonObject, parseJsonOrText } from '../../core/json.ts'
import type { AnyEndpoint } from '../../core/plugin/index.ts'

type Style = NonNullable<AnyEndpoint['styles']>[string]

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: ' ', pipeDelimited: '|' }

/** Reads values of a URL by the schema and the styles that an endpoint declares. */
export function readUrlValues(
  { input, styles }: Pick<AnyEndpoint, 'input' | 'styles'>,
  given: JsonObject,
): JsonObject {
  const { properties = {} } = input.json as JsonSchema
  const values = styles ? collectMembers(properties, styles, given) : given
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      convertText(splitText(value, styles?.[name], properties[name]), properties[name]),
    ]),
  )
}

/** Collects the members of objects: `filter[a]=1` (`deepObject`), or `a=1` of an exploded form. */
function collectMembers(
  properties: Readonly<Record<string, JsonSchema>>,
  styles: Readonly<Record<string, Style>>,
  given: JsonObject,
): JsonObject {
  const values: Record<string, unknown> = { ...given }
  for (const [member, { style, explode }] of Object.entries(styles)) {
    if (values[member] !== undefined) continue
    const inner = properties[member]?.properties
    const found: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(given)) {
      const keys = style === 'deepObject' ? keysBelow(member, name) : undefined
      if (keys) assign(found, keys, value)
      else if (style !== 'form' || !explode || !inner || Object.hasOwn(properties, name)) continue
      else if (Object.hasOwn(inner, name)) found[name] = value
      else continue
      delete values[name]
    }
    if (Object.keys(found).length > 0) values[member] = found
  }
  return values
}

/** Keys of `filter[a][b]` below `filter`. */
const keysBelow = (member: string, name: string): readonly string[] | undefined =>
  name.startsWith(`${member}[`) && name.endsWith(']')
    ? name.slice(member.length + 1, -1).split('][')
    : undefined

function assign(target: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  const [key = '', ...rest] = keys
  if (key === '__proto__') return
  if (rest.length === 0) target[key] = value
  else {
    const inner = isJsonObject(target[key]) ? { ...target[key] } : {}
    assign(inner, rest, value)
    target[key] = inner
  }
}

/** Splits a list that is sent as one text; parses that of `json`, which the schema checks. */
function splitText(value: unknown, style: Style | undefined, schema: JsonSchema = {}): unknown {
  if (!style || typeof value !== 'string') return value
  if (style.style === 'json') return parseJsonOrText(value)
  const isSpread = style.style === 'deepObject' || (style.style === 'form' && style.explode)
  if (isSpread || !typesOf(schema).includes('array')) return value
  return value.split(DELIMITERS[style.style] ?? ',')
}

const typesOf = ({ type }: JsonSchema): readonly string[] => [type ?? []].flat()

/** Converts text from a URL to the number, boolean, list or object that the schema declares. */
function convertText(value: unknown, schema: JsonSchema = {}): unknown {
  const { items, properties } = schema
  const types = typesOf(schema)
  if (types.includes('array') && value !== undefined) {
    const values = isJsonObject(value) ? Object.values(value) : [value].flat()
    return values.map((each) => convertText(each, items))
  }
  if (isJsonObject(value) && properties) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, convertText(each, properties[name])]),
    )
  }
  if (typeof value !== 'string') return value
  const isNumeric = types.includes('integer') || types.includes('number')
  if (isNumeric && /^-?\d{1,15}(\.\d{1,10})?$/.test(value)) {
    const number = Number(value)
    return types.includes('string') && String(number) !== value ? value : number // such as 007
  }
  if (types.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true'
  if (types.includes('object') && value.startsWith('{')) return parseJsonOrText(value)
  return value
}
