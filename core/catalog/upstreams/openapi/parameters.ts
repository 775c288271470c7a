import { isRelayable } from '../../../egress/headers.ts'
import { isJsonObject, type JsonObject } from '../../../json.ts'
import type { ParameterStyle } from '../../../plugin/upstreams.ts'
import { parameterNames } from '../../services/paths.ts'
import type { DocumentReader, Operation } from './document.ts'
import { withExample } from './examples.ts'
import type { SchemaScope } from './schema-reader.ts'

/** Input members of an operation, with their places. */
export interface Inputs {
  readonly properties: Record<string, unknown>
  readonly required: string[]
  readonly query: string[]
  readonly headers: string[]
  /** True if the API takes an `Idempotency-Key`, which the hub sends. */
  takesIdempotencyKey: boolean
  /** Serialization of the members that differ from the default. */
  readonly styles: Record<string, ParameterStyle>
}

const PARAMETERS_MAX = 100
const NAME_MAX = 128
/** Headers set by the hub, or injected as a secret. */
const RESERVED_HEADERS = /^(?:authorization|accept|content-type|cookie|x-api-key|idempotency-key)$/
const STYLES: Readonly<Record<string, readonly string[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
}

/** Reads the parameters of an operation; undefined if it cannot be sold without a missing one. */
export function readParameters(
  reader: DocumentReader,
  { path, item, spec, at }: Operation,
  scope: SchemaScope,
): Inputs | undefined {
  const { refs } = reader
  const inputs: Inputs = {
    properties: {},
    required: [],
    query: [],
    headers: [],
    takesIdempotencyKey: false,
    styles: {},
  }
  const listed = [item['parameters'], spec['parameters']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  )
  if (listed.length > PARAMETERS_MAX) {
    return refs.addGap(at, `it has more than ${PARAMETERS_MAX} parameters`)
  }
  const inPath = new Set(parameterNames(path))
  const byName = new Map<string, JsonObject>()
  for (const [i, each] of listed.entries()) {
    const found = refs.resolve(each, `${at}/parameters/${i}`)
    if (!found) return undefined
    byName.set(`${String(found['in'])} ${String(found['name'])}`, found)
  }
  // Path parameters first: they keep their names.
  const isInPath = (each: JsonObject): boolean => each['in'] === 'path'
  const all = [...byName.values()]
  for (const parameter of [...all.filter(isInPath), ...all.filter((each) => !isInPath(each))]) {
    if (isInPath(parameter) && !inPath.has(String(parameter['name']))) {
      refs.addGap(at, `the path has no parameter ${String(parameter['name'])}`)
    } else if (!addParameter(reader, parameter, inputs, at, scope)) return undefined
  }
  for (const name of inPath) {
    if (!Object.hasOwn(inputs.properties, name)) inputs.properties[name] = { type: 'string' }
    inputs.required.push(name)
  }
  return inputs
}

/** @returns false if the operation cannot be sold as declared */
function addParameter(
  reader: DocumentReader,
  parameter: JsonObject,
  inputs: Inputs,
  at: string,
  scope: SchemaScope,
): boolean {
  const { refs } = reader
  const { name, in: place } = parameter
  const where = `${at}/parameters/${String(name)}`
  const isRequired = parameter['required'] === true || place === 'path'
  /** Leaves an optional parameter out. */
  const leaveOut = (what: string): boolean => {
    refs.addGap(where, isRequired ? `${what}, and it is required` : `${what}; it is left out`)
    return !isRequired
  }
  if (typeof name !== 'string' || name === '' || name.length > NAME_MAX)
    return leaveOut('the name of the parameter is not supported')
  if (place === 'header') return addHeader(name.toLowerCase(), inputs, leaveOut)
  if (place !== 'query' && place !== 'path')
    return leaveOut(`a parameter in ${String(place)} is not supported`)
  if (parameter['collectionFormat'] === 'tsv' || parameter['x-tsv'] === true)
    return leaveOut('lists separated by tabs are not supported')
  const member = Object.hasOwn(inputs.properties, name) ? `${place}_${name}` : name
  if (Object.hasOwn(inputs.properties, member)) return leaveOut('its name is used twice')
  const media = readMedia(parameter)
  if (media === undefined && parameter['content'] !== undefined)
    return leaveOut('content other than JSON is not supported')
  const style = styleOf(parameter, media !== undefined)
  if (style === undefined)
    return leaveOut(`its style ${String(parameter['style'])} is not supported`)
  const schema = reader.schemas.read(media ?? parameter['schema'] ?? {}, where, scope)
  const { description } = parameter
  const text = typeof description === 'string' && { description: description.slice(0, 1_000) }
  inputs.properties[member] = withExample({ ...text, ...schema }, parameter)
  if (isRequired) inputs.required.push(member)
  if (place === 'query') inputs.query.push(member)
  if (member !== name || !isDefaultStyle(style, place, schema)) {
    inputs.styles[member] = { ...(member !== name && { name }), ...style }
  }
  return true
}

function addHeader(name: string, inputs: Inputs, leaveOut: (what: string) => boolean): boolean {
  if (name === 'idempotency-key') inputs.takesIdempotencyKey = true
  if (RESERVED_HEADERS.test(name)) return true // ignored, says OpenAPI; or a secret
  if (!isRelayable(name)) return leaveOut('the hub does not pass this header on')
  inputs.headers.push(name)
  return true
}

/** Schema of a parameter with `content`, which is sent as JSON. */
function readMedia({ content }: JsonObject): unknown {
  if (!isJsonObject(content)) return undefined
  const [[type, media] = ['', undefined]] = Object.entries(content)
  return /[/+]json\b/.test(type) && isJsonObject(media) ? (media['schema'] ?? {}) : undefined
}

function styleOf(
  { in: place, style: given, explode: spread }: JsonObject,
  isJson: boolean,
): ParameterStyle | undefined {
  if (isJson) return { style: 'json', explode: false }
  const style = given ?? (place === 'path' ? 'simple' : 'form')
  const supported = STYLES[String(place)] ?? []
  if (typeof style !== 'string' || !supported.includes(style)) return undefined
  const explode = typeof spread === 'boolean' ? spread : style === 'form'
  return { style: style as ParameterStyle['style'], explode }
}

const SCALARS: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean', 'null'])

/** True if members without a style are sent in the same way. */
function isDefaultStyle(
  { style, explode }: ParameterStyle,
  place: 'query' | 'path',
  schema: JsonObject,
): boolean {
  const types = [schema['type'] ?? []].flat()
  const isScalar = types.length > 0 && types.every((type) => SCALARS.has(type))
  if (place === 'path') return style === 'simple' && isScalar
  if (isScalar) return style !== 'json' && style !== 'deepObject'
  return style === 'form' && explode && types.length === 1 && types[0] === 'array'
}
