import { isJsonObject, objectMember } from '../../../json.ts'
import { type Micros, usd } from '../../../money.ts'
import { cleanMarkup } from '../../../text.ts'
import { DEADLINE_SECONDS } from '../../services/deadline.ts'
import { HUB_STATUSES } from '../../services/hub-statuses.ts'
import { pathIssue } from '../../services/paths.ts'
import type { EndpointInfo } from '../store.ts'
import { readBody } from './body.ts'
import type { DocumentReader, Operation } from './document.ts'
import { readParameters } from './parameters.ts'
import { newSchemaScope } from './schema-reader.ts'

/** Endpoint described by a document; `price` is null if the document does not name one. */
export interface ProposedEndpoint extends EndpointInfo {
  readonly price: Micros | null
  /** Request headers passed on from the caller. */
  readonly headers: readonly string[]
}

const SUMMARY_MAX = 500
const SUCCESS_STATUSES = [200, 201, 202, 203, 204] as const
const MAX_BYTES = 1_048_576

/** Converts an operation to an endpoint, or to a gap that says why it cannot be sold. */
export function proposeEndpoint(
  reader: DocumentReader,
  operation: Operation,
): ProposedEndpoint | undefined {
  const { method, path, spec, at } = operation
  const issue = pathIssue(path)
  if (issue !== undefined) return reader.refs.addGap(at, `the path ${issue}`)
  const scope = newSchemaScope('request')
  const inputs = readParameters(reader, operation, scope)
  const body = inputs && readBody(reader, operation, inputs, scope)
  if (!inputs || !body) return undefined
  const response = readResponse(reader, operation)
  const idempotent = method !== 'POST' && method !== 'PATCH' ? true : inputs.takesIdempotencyKey
  const text = [spec['summary'], spec['description']].find((each) => typeof each === 'string')
  const isAllInQuery = body.kind === 'none' && (method === 'GET' || method === 'DELETE')
  const encoding = {
    ...(Object.keys(inputs.styles).length > 0 && { parameters: inputs.styles }),
    ...body.encoding,
  }
  return {
    method,
    path,
    upstreamPath: path,
    summary: cleanMarkup(text, SUMMARY_MAX) || `${method} ${path}`,
    input: {
      type: 'object',
      ...body.constraints,
      properties: inputs.properties,
      ...(inputs.required.length > 0 && { required: [...new Set(inputs.required)] }),
      additionalProperties: body.open,
      ...(Object.keys(scope.definitions).length > 0 && { $defs: scope.definitions }),
    },
    ...response,
    query: isAllInQuery ? [] : inputs.query,
    body: body.kind,
    encoding: Object.keys(encoding).length > 0 ? encoding : null,
    deadlineSeconds: reader.limits.deadlineSeconds ?? DEADLINE_SECONDS,
    maxBytes: reader.limits.maxBytes ?? MAX_BYTES,
    idempotent,
    retries: method === 'GET' ? 1 : 0,
    price: readPrice(spec['x-payment-info']),
    headers: inputs.headers,
  }
}

/** Returns the statuses, the response schema, and true if the response is a stream. */
function readResponse({ refs, schemas }: DocumentReader, { spec, at }: Operation) {
  const responses = objectMember(spec, 'responses')
  const names = Object.keys(responses)
  const statuses = names.filter((status) => /^2\d\d$/.test(status))
  const isAny = statuses.length === 0 || names.some((name) => /^2xx$/i.test(name))
  const success = isAny
    ? [...new Set([...statuses.map(Number), ...SUCCESS_STATUSES])]
    : statuses.map(Number)
  const first = statuses[0] ?? names.find((name) => /^2xx$/i.test(name)) ?? 'default'
  const response = refs.resolve(responses[first], `${at}/responses/${first}`)
  const content = objectMember(response, 'content')
  const types = Object.keys(content)
  const streams = types.some((type) => STREAM_TYPES.test(type))
  const json = Object.entries(content).find(([type]) => /[/+]json\b/.test(type))?.[1]
  const shared = { success, passes: passedStatuses(names), streams }
  const isOnly = statuses.length === 1 && !isAny && types.every((type) => /[/+]json\b/.test(type))
  if (streams || !isOnly || !isJsonObject(json)) return { ...shared, output: null }
  const scope = newSchemaScope('response')
  const read = schemas.read(json['schema'] ?? {}, `${at}/responses/${first}`, scope)
  if (Object.keys(read).length === 0) return { ...shared, output: null }
  const { definitions } = scope
  const output = Object.keys(definitions).length > 0 ? { ...read, $defs: definitions } : read
  return { ...shared, output }
}

/** Media types whose items arrive one by one. */
const STREAM_TYPES = /^(?:text\/event-stream|application\/(?:jsonl|x-ndjson|json-seq))\b/
/** Statuses that a range `4XX` stands for. */
const RANGE = [400, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414, 415, 416, 422, 429]
const PASSES_MAX = 20

/** Declared client errors, which callers get as the answer of the API. */
function passedStatuses(names: readonly string[]): readonly number[] {
  const statuses = names.flatMap((name) =>
    /^4xx$/i.test(name) ? RANGE : /^4\d\d$/.test(name) ? [Number(name)] : [],
  )
  const passed = [...new Set(statuses)].filter((status) => !HUB_STATUSES.has(status))
  return passed.slice(0, PASSES_MAX)
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
