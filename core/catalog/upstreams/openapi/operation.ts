import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import { type Micros, usd } from '../../../money.ts'
import { cleanText } from '../../../text.ts'
import { DEADLINE_SECONDS } from '../../services/deadline.ts'
import { AMBIGUOUS_PATH, PATH_PATTERN, parameterNames } from '../../services/routing.ts'
import type { EndpointInfo } from '../store.ts'
import type { RefResolver } from './refs.ts'

/** Endpoint described by a document; `price` is null if the document does not name one. */
export interface ProposedEndpoint extends EndpointInfo {
  readonly price: Micros | null
  /** Request headers passed on from the caller. */
  readonly headers: readonly string[]
}

/** Operation of a document with its location. */
export interface Operation {
  readonly method: EndpointInfo['method']
  readonly path: string
  readonly item: JsonObject
  readonly spec: JsonObject
  readonly at: string
}

const SUMMARY_MAX = 500
const SUCCESS_STATUSES = [200, 201, 202, 203, 204] as const
const MAX_BYTES = 1_048_576
const PARAMETERS_MAX = 100
const PARAMETER_NAME = /^[A-Za-z_][\w.[\]-]{0,63}$/
/** Headers set by the hub, or injected as a secret. */
const RESERVED_HEADERS = /^(?:authorization|accept|content-type|cookie|x-api-key)$/

interface Inputs {
  readonly properties: Record<string, unknown>
  readonly required: string[]
  readonly query: string[]
  readonly headers: string[]
}

/** Converts an operation to an endpoint, or to a gap that says why it cannot be sold. */
export function proposeEndpoint(
  refs: RefResolver,
  operation: Operation,
): ProposedEndpoint | undefined {
  const { method, path, spec, at } = operation
  if (!isSellablePath(path))
    return refs.addGap(at, 'a path segment is neither text nor a parameter')
  const inputs = readParameters(refs, operation)
  if (!inputs) return undefined
  const body = readBody(refs, operation, inputs)
  if (!body) return undefined
  const answer = readResponse(refs, operation)
  const inQuery = method === 'GET' || method === 'DELETE'
  const idempotent = inQuery || method === 'PUT'
  const text = [spec['summary'], spec['description']].find((each) => typeof each === 'string')
  return {
    method,
    path,
    upstreamPath: path,
    summary: cleanText(text, SUMMARY_MAX) || `${method} ${path}`,
    input: {
      type: 'object',
      properties: inputs.properties,
      ...(inputs.required.length > 0 && { required: inputs.required }),
      additionalProperties: body.open,
    },
    ...answer,
    query: inQuery ? [] : inputs.query,
    body: body.kind,
    passes: [],
    deadlineSeconds: DEADLINE_SECONDS,
    maxBytes: MAX_BYTES,
    idempotent,
    retries: method === 'GET' ? 1 : 0,
    price: readPrice(spec['x-payment-info']),
    headers: inputs.headers,
  }
}

const isSellablePath = (path: string): boolean =>
  PATH_PATTERN.test(path) && !AMBIGUOUS_PATH.test(path) && path.length <= 300

function readParameters(
  refs: RefResolver,
  { path, item, spec, at }: Operation,
): Inputs | undefined {
  const inputs: Inputs = { properties: {}, required: [], query: [], headers: [] }
  const listed = [item['parameters'], spec['parameters']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  )
  if (listed.length > PARAMETERS_MAX) {
    return refs.addGap(at, `more than ${PARAMETERS_MAX} parameters`)
  }
  const byName = new Map<string, JsonObject>()
  for (const [i, each] of listed.entries()) {
    const found = refs.resolve(each, `${at}/parameters/${i}`)
    if (found) byName.set(`${String(found['in'])} ${String(found['name'])}`, found)
  }
  for (const parameter of byName.values()) {
    if (!addParameter(refs, parameter, inputs, at)) return undefined
  }
  for (const name of parameterNames(path)) {
    inputs.properties[name] ??= { type: 'string' }
    if (!inputs.required.includes(name)) inputs.required.push(name)
  }
  return inputs
}

/** @returns false if the parameter is unsupported and the operation requires it */
function addParameter(
  refs: RefResolver,
  parameter: JsonObject,
  inputs: Inputs,
  at: string,
): boolean {
  const { name, in: place, required, style, explode } = parameter
  const where = `${at}/parameters/${String(name)}`
  if (typeof name !== 'string' || (place !== 'header' && !PARAMETER_NAME.test(name))) {
    refs.addGap(where, 'the name of the parameter is not supported')
    return required !== true
  }
  if (place === 'header') {
    const header = name.toLowerCase()
    if (!RESERVED_HEADERS.test(header)) inputs.headers.push(header)
    return true
  }
  if (place !== 'query' && place !== 'path') {
    refs.addGap(where, `a parameter in ${String(place)} is not supported`)
    return required !== true
  }
  if ((style !== undefined && style !== 'form' && style !== 'simple') || explode === false) {
    refs.addGap(where, 'its style is not supported; lists are sent as name=a&name=b')
  }
  if (Object.hasOwn(inputs.properties, name)) {
    refs.addGap(where, 'two parameters have the same name')
    return false
  }
  const schema = refs.inlineSchema(parameter['schema'] ?? {}, where)
  const { description } = parameter
  const text = typeof description === 'string' && { description: description.slice(0, 1_000) }
  inputs.properties[name] = { ...text, ...schema }
  if (required === true || place === 'path') inputs.required.push(name)
  if (place === 'query') inputs.query.push(name)
  return true
}

const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Adds the members of the body to the input. */
function readBody(refs: RefResolver, { method, spec, at }: Operation, inputs: Inputs) {
  const given = spec['requestBody']
  if (given === undefined || method === 'GET' || method === 'DELETE') {
    if (given !== undefined) refs.addGap(`${at}/requestBody`, `the body of a ${method} is not sent`)
    return { kind: 'none', open: false } as const
  }
  const body = refs.resolve(given, `${at}/requestBody`)
  const content = objectMember(body, 'content')
  const types = Object.keys(content)
  const type = types.find((each) => /^application\/(?:[\w.+-]+\+)?json\b/.test(each))
  const found = type ?? types.find((each) => each.startsWith(FORM_TYPE))
  if (found === undefined) {
    const isMultipart = types.some((each) => each.startsWith('multipart/'))
    const what = isMultipart
      ? 'a multipart body is not supported; offer JSON or a form instead'
      : 'the body is neither JSON nor a form'
    return refs.addGap(`${at}/requestBody`, what)
  }
  const media = content[found]
  const where = `${at}/requestBody`
  const schema = refs.inlineSchema(isJsonObject(media) ? (media['schema'] ?? {}) : {}, where)
  const kind = type === undefined ? 'form' : 'json'
  const whole = objectMembers(schema)
  if (!whole) {
    if (schema['type'] !== undefined && schema['type'] !== 'object') {
      return refs.addGap(where, 'the body is not an object')
    }
    refs.addGap(where, 'the schema names no members; any body is accepted')
    return { kind, open: true } as const
  }
  const twice = Object.keys(whole.properties).find((name) => Object.hasOwn(inputs.properties, name))
  if (twice !== undefined) return refs.addGap(where, `both a member and a parameter: ${twice}`)
  Object.assign(inputs.properties, whole.properties)
  if (body?.['required'] === true) inputs.required.push(...whole.required)
  return { kind, open: whole.open } as const
}

/** Returns the members of an object schema, including those of `allOf`. */
function objectMembers(
  schema: JsonObject,
): { properties: JsonObject; required: string[]; open: boolean } | undefined {
  const { allOf } = schema
  const parts = [schema, ...(Array.isArray(allOf) ? (allOf as JsonObject[]) : [])]
  const named = parts.map(({ properties }) => properties).filter(isJsonObject)
  if (named.length === 0 || schema['anyOf'] || schema['oneOf']) return undefined
  return {
    properties: Object.assign({}, ...named) as JsonObject,
    required: parts.flatMap((part) => (part['required'] as string[] | undefined) ?? []),
    open: parts.every((part) => part['additionalProperties'] !== false),
  }
}

/** Returns the success statuses, the response schema, and whether the response is a stream. */
function readResponse(refs: RefResolver, { spec, at }: Operation) {
  const responses = objectMember(spec, 'responses')
  const statuses = Object.keys(responses).filter((status) => /^2\d\d$/.test(status))
  const success = statuses.length > 0 ? statuses.map(Number) : [...SUCCESS_STATUSES]
  const first = statuses[0] ?? '2XX'
  const response = refs.resolve(responses[first], `${at}/responses/${first}`)
  const content = objectMember(response, 'content')
  const streams = Object.keys(content).some((type) => type.startsWith('text/event-stream'))
  const json = Object.entries(content).find(([type]) => /[/+]json\b/.test(type))?.[1]
  if (streams || statuses.length > 1 || !isJsonObject(json))
    return { success, streams, output: null }
  const output = refs.inlineSchema(json['schema'] ?? {}, `${at}/responses/${first}`)
  return { success, streams, output: Object.keys(output).length > 0 ? output : null }
}

/** Reads `x-payment-info`, flat or `{price: {mode: "fixed", currency: "USD", amount: "0.003"}}`. */
function readPrice(info: unknown): Micros | null {
  if (!isJsonObject(info)) return null
  const price = isJsonObject(info['price']) ? info['price'] : info
  const { mode = 'fixed', currency = 'USD' } = price
  const amount = price['amount'] ?? (isJsonObject(info['price']) ? undefined : info['price'])
  if (mode !== 'fixed' || currency !== 'USD') return null
  try {
    return usd(String(amount))
  } catch {
    return null
  }
}
