import { isJsonObject, type JsonObject } from '../../../json.ts'
import { type Micros, usd } from '../../../money.ts'
import { DEADLINE_SECONDS } from '../../services/deadline.ts'
import { ELSEWHERE, PATH, parametersOf } from '../../services/routing.ts'
import type { EndpointInfo } from '../store.ts'
import type { Refs } from './refs.ts'

/** An endpoint as a document describes it; what it costs may stand there, or has to be asked. */
export interface Proposed extends EndpointInfo {
  readonly price: Micros | null
  /** Headers that callers may send along. */
  readonly headers: readonly string[]
}

/** An operation of a document, and where it stands. */
export interface Operation {
  readonly method: EndpointInfo['method']
  readonly path: string
  readonly item: JsonObject
  readonly spec: JsonObject
  readonly at: string
}

const SUMMARY_MAX = 500
const SUCCESS = [200, 201, 202, 203, 204] as const
const MAX_BYTES = 1_048_576
const PARAMETERS_MAX = 100
const NAME = /^[A-Za-z_][\w.[\]-]{0,63}$/
/** Said by the hub, or by what its owner has it add. */
const OWN_HEADERS = /^(?:authorization|accept|content-type|cookie|x-api-key)$/

interface Inputs {
  readonly properties: Record<string, unknown>
  readonly required: string[]
  readonly query: string[]
  readonly headers: string[]
}

/** What can be sold of an operation; undefined: it cannot, and the gaps say why. */
export function proposed(refs: Refs, operation: Operation): Proposed | undefined {
  const { method, path, spec, at } = operation
  if (!isPath(path)) return refs.gap(at, 'a path of other segments than texts and parameters')
  const inputs = parametersIn(refs, operation)
  if (!inputs) return undefined
  const body = bodyOf(refs, operation, inputs)
  if (!body) return undefined
  const answer = answerOf(refs, operation)
  const inQuery = method === 'GET' || method === 'DELETE'
  const idempotent = inQuery || method === 'PUT'
  const text = [spec['summary'], spec['description']].find((each) => typeof each === 'string')
  return {
    method,
    path,
    upstreamPath: path,
    summary: (text ?? '').trim().slice(0, SUMMARY_MAX) || `${method} ${path}`,
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
    price: priceOf(spec['x-payment-info']),
    headers: inputs.headers,
  }
}

const isPath = (path: string): boolean =>
  PATH.test(path) && !ELSEWHERE.test(path) && path.length <= 300

function parametersIn(refs: Refs, { path, item, spec, at }: Operation): Inputs | undefined {
  const inputs: Inputs = { properties: {}, required: [], query: [], headers: [] }
  const listed = [item['parameters'], spec['parameters']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  )
  if (listed.length > PARAMETERS_MAX) {
    return refs.gap(at, `more than ${PARAMETERS_MAX} parameters`)
  }
  const byName = new Map<string, JsonObject>()
  for (const [i, each] of listed.entries()) {
    const found = refs.object(each, `${at}/parameters/${i}`)
    if (found) byName.set(`${String(found['in'])} ${String(found['name'])}`, found)
  }
  for (const parameter of byName.values()) {
    if (!take(refs, parameter, inputs, at)) return undefined
  }
  for (const name of parametersOf(path)) {
    inputs.properties[name] ??= { type: 'string' }
    if (!inputs.required.includes(name)) inputs.required.push(name)
  }
  return inputs
}

/** @returns false for one without which the operation cannot be called */
function take(refs: Refs, parameter: JsonObject, inputs: Inputs, at: string): boolean {
  const { name, in: place, required, style, explode } = parameter
  const where = `${at}/parameters/${String(name)}`
  if (typeof name !== 'string' || (place !== 'header' && !NAME.test(name))) {
    refs.gap(where, 'a parameter whose name is not taken here')
    return required !== true
  }
  if (place === 'header') {
    const header = name.toLowerCase()
    if (!OWN_HEADERS.test(header)) inputs.headers.push(header)
    return true
  }
  if (place !== 'query' && place !== 'path') {
    refs.gap(where, `a parameter in ${String(place)} is not sent`)
    return required !== true
  }
  if ((style !== undefined && style !== 'form' && style !== 'simple') || explode === false) {
    refs.gap(where, 'it is sent as the query usually is: lists as name=a&name=b')
  }
  if (Object.hasOwn(inputs.properties, name)) {
    refs.gap(where, 'two parameters of one name')
    return false
  }
  const schema = refs.schema(parameter['schema'] ?? {}, where)
  const { description } = parameter
  const text = typeof description === 'string' && { description: description.slice(0, 1_000) }
  inputs.properties[name] = { ...text, ...schema }
  if (required === true || place === 'path') inputs.required.push(name)
  if (place === 'query') inputs.query.push(name)
  return true
}

const FORM = 'application/x-www-form-urlencoded'

/** Adds the members of the body to the input. */
function bodyOf(refs: Refs, { method, spec, at }: Operation, inputs: Inputs) {
  const given = spec['requestBody']
  if (given === undefined || method === 'GET' || method === 'DELETE') {
    if (given !== undefined) refs.gap(`${at}/requestBody`, `the body of a ${method} is not sent`)
    return { kind: 'none', open: false } as const
  }
  const body = refs.object(given, `${at}/requestBody`)
  const content = isJsonObject(body?.['content']) ? body['content'] : {}
  const types = Object.keys(content)
  const type = types.find((each) => /^application\/(?:[\w.+-]+\+)?json\b/.test(each))
  const found = type ?? types.find((each) => each.startsWith(FORM))
  if (found === undefined) {
    const isMultipart = types.some((each) => each.startsWith('multipart/'))
    const what = isMultipart
      ? 'its body is multipart, which the hub does not send: take it as JSON or as a form'
      : 'its body is neither JSON nor a form'
    return refs.gap(`${at}/requestBody`, what)
  }
  const media = content[found]
  const where = `${at}/requestBody`
  const schema = refs.schema(isJsonObject(media) ? (media['schema'] ?? {}) : {}, where)
  const kind = type === undefined ? 'form' : 'json'
  const whole = wholeOf(schema)
  if (!whole) {
    if (schema['type'] !== undefined && schema['type'] !== 'object') {
      return refs.gap(where, 'its body is no object')
    }
    refs.gap(where, 'its body is taken as it is: the schema names no members')
    return { kind, open: true } as const
  }
  const twice = Object.keys(whole.properties).find((name) => Object.hasOwn(inputs.properties, name))
  if (twice !== undefined) return refs.gap(where, `a member and a parameter are both ${twice}`)
  Object.assign(inputs.properties, whole.properties)
  if (body?.['required'] === true) inputs.required.push(...whole.required)
  return { kind, open: whole.open } as const
}

/** The members of an object, also of one that is put together from several. */
function wholeOf(
  schema: JsonObject,
): { properties: JsonObject; required: string[]; open: boolean } | undefined {
  const parts = [
    schema,
    ...(Array.isArray(schema['allOf']) ? (schema['allOf'] as JsonObject[]) : []),
  ]
  const named = parts.flatMap((part) =>
    isJsonObject(part['properties']) ? [part['properties']] : [],
  )
  if (named.length === 0 || schema['anyOf'] || schema['oneOf']) return undefined
  return {
    properties: Object.assign({}, ...named) as JsonObject,
    required: parts.flatMap((part) => (part['required'] as string[] | undefined) ?? []),
    open: parts.every((part) => part['additionalProperties'] !== false),
  }
}

/** Which statuses are a success, and what they answer. */
function answerOf(refs: Refs, { spec, at }: Operation) {
  const responses = isJsonObject(spec['responses']) ? spec['responses'] : {}
  const statuses = Object.keys(responses).filter((status) => /^2\d\d$/.test(status))
  const success = statuses.length > 0 ? statuses.map(Number) : [...SUCCESS]
  const first = statuses[0] ?? '2XX'
  const response = refs.object(responses[first], `${at}/responses/${first}`)
  const content = isJsonObject(response?.['content']) ? response['content'] : {}
  const streams = Object.keys(content).some((type) => type.startsWith('text/event-stream'))
  const json = Object.entries(content).find(([type]) => /[/+]json\b/.test(type))?.[1]
  if (streams || !isJsonObject(json) || statuses.length > 1)
    return { success, streams, output: null }
  const output = refs.schema(json['schema'] ?? {}, `${at}/responses/${first}`)
  return { success, streams, output: Object.keys(output).length > 0 ? output : null }
}

/** `x-payment-info`: `{price: {mode: "fixed", currency: "USD", amount: "0.003"}}`, or plainer. */
function priceOf(info: unknown): Micros | null {
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
