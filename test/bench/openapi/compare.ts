import { isDeepStrictEqual } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ProposedEndpoint } from '../../../core/catalog/upstreams/openapi/operation.ts'
import { isJsonObject, type JsonObject, objectMember } from '../../../core/json.ts'
import { usd } from '../../../core/money.ts'
import { type EgressRequest, Refusal } from '../../../core/plugin/index.ts'
import type { Upstream } from '../../../core/plugin/upstreams.ts'
import { requestsOf } from '../../../plugins/upstream/request.ts'
import type { BuiltRequest } from './builder.ts'
import { resolveLocal, sampleOf } from './samples.ts'

interface DeclaredOperation {
  readonly root: JsonObject
  readonly path: string
  readonly method: string
  readonly item: JsonObject
  readonly isValid: IsValid
}

/** Result for an operation whose sampled values the original document does not accept. */
export const UNVERIFIED = 'no valid sample'

type IsValid = (pointer: readonly string[], value: unknown) => boolean

/** Validates values by the schemas of the original document itself. */
export function documentValidator(root: JsonObject): IsValid {
  const original = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    inlineRefs: false,
    logger: false,
  })
  try {
    original.addSchema(root, 'document')
  } catch {
    return () => false // such as two examples that look like schemas with one id
  }
  return (pointer, value) => {
    const path = pointer.map((name) =>
      encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')),
    )
    try {
      return original.validate({ $ref: `document#/${path.join('/')}` }, value)
    } catch {
      return false
    }
  }
}

const BASE = 'https://api.example'
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })

/** Values for one operation: as the document names them, and as input of the endpoint. */
interface Samples {
  readonly parameters: Record<string, unknown>
  readonly input: Record<string, unknown>
  readonly body: unknown
  readonly type: string | undefined
}

/**
 * Compares the hub's request with that of `swagger-client`, both for values sampled from the
 * original document. Returns a difference, if any.
 */
export function compareRequests(
  operation: DeclaredOperation,
  endpoint: ProposedEndpoint,
  build: (options: JsonObject) => BuiltRequest,
): string | undefined {
  const samples = sampleOperation(operation, endpoint)
  if (samples === undefined) return UNVERIFIED
  const refusal = inputDifference(endpoint, samples.input)
  if (refusal !== undefined) return refusal
  const upstream = { baseUrl: BASE, requestHeaders: [], responseHeaders: [], injected: [] }
  const made = requestsOf(upstream as unknown as Upstream, { ...endpoint, price: usd('0') })
  let sent: EgressRequest
  try {
    sent = made({ id: 'x', input: samples.input, signal: AbortSignal.timeout(1_000) })
  } catch (error) {
    if (error instanceof Refusal) return UNVERIFIED // an empty list in a path
    throw error
  }
  const expected = buildExpected(operation, samples, build)
  const path = (url: string): string =>
    new URL(url).pathname.split('/').map(decodeURIComponent).join('/')
  if (path(sent.url) !== path(expected.url)) return `path: ${sent.url} not ${expected.url}`
  if (!isDeepStrictEqual(pairsIn(new URL(sent.url).search), pairsIn(new URL(expected.url).search)))
    return `query: ${sent.url} not ${expected.url}`
  return bodyDifference(endpoint.body, sent.body, expected.body, samples.body)
}

/** The declared values must be accepted, and refused without a required one. */
function inputDifference(endpoint: ProposedEndpoint, input: JsonObject): string | undefined {
  const validate = compiled(endpoint.input)
  if (!validate) return UNVERIFIED // a pattern of RE2 that JavaScript lacks
  if (!validate(input)) {
    const [error] = validate.errors ?? []
    return `valid values are refused: ${error?.instancePath} ${error?.message}`
  }
  const { required } = endpoint.input
  for (const name of Array.isArray(required) ? (required as string[]) : []) {
    const { [name]: _, ...rest } = input
    if (validate(rest)) return `values without ${name} are accepted`
  }
  return undefined
}

function compiled(schema: JsonObject) {
  try {
    return ajv.compile(schema)
  } catch {
    return undefined
  }
}

function sampleOperation(
  { root, path, method, item, isValid }: DeclaredOperation,
  endpoint: ProposedEndpoint,
): Samples | undefined {
  const spec = objectMember(item, method)
  const parameters: Record<string, unknown> = {}
  const input: Record<string, unknown> = {}
  let form: Record<string, unknown> | undefined
  let body: unknown
  for (const each of declaredParameters(root, item, spec)) {
    const name = String(each['name'])
    const place = String(each['in'])
    const [media] = Object.values(objectMember(each, 'content'))
    const schema = each['schema'] ?? (isJsonObject(media) ? media['schema'] : each)
    const value = sampleOf(root, schema, 1)
    if (place === 'body') {
      body = sampleOf(root, each['schema'])
      const { $ref } = objectMember(each, 'schema')
      const at =
        typeof $ref === 'string'
          ? $ref.slice(2).split('/')
          : pointerOf({ item, path, method }, each)
      if (at !== undefined && !isValid(at, body)) return undefined
    } else if (place === 'formData' && each['type'] !== 'file') (form ??= {})[name] = value
    else if (place === 'query' || (place === 'path' && path.includes(`{${name}}`))) {
      if (value === undefined && (each['required'] === true || place === 'path')) return undefined
      if (value === undefined) continue
      const shape = resolveLocal(root, each['schema'])
      const { oneOf, allOf, anyOf } = isJsonObject(shape) ? shape : {}
      const isRequired = each['required'] === true
      if ((oneOf ?? allOf ?? anyOf) && isRequired) return undefined
      if (oneOf ?? allOf ?? anyOf) continue // values that fit one alternative may fit two
      parameters[`${place}.${name}`] = value
      input[memberOf(endpoint, name, place)] = value
    }
  }
  const request = resolveLocal(root, spec['requestBody'])
  const content = objectMember(isJsonObject(request) ? request : {}, 'content')
  const type = chosenType(Object.keys(content), endpoint)
  if (type !== undefined) {
    body = sampleOf(root, objectMember(content, type)['schema'])
    const ref = objectMember(spec, 'requestBody')['$ref']
    const at =
      typeof ref === 'string'
        ? ref.slice(2).split('/').map(decodeURIComponent)
        : ['paths', path, method, 'requestBody']
    if (!isValid([...at, 'content', type, 'schema'], body)) return undefined
  }
  body ??= form
  if (endpoint.body === 'none' || endpoint.body === 'text' || endpoint.body === 'binary') {
    if (endpoint.encoding?.bodyMember !== undefined) input[endpoint.encoding.bodyMember] = 'YWJj'
    return { parameters, input, body: undefined, type }
  }
  if (body === undefined) return undefined
  const whole = endpoint.encoding?.bodyMember
  if (whole !== undefined) input[whole] = body
  else if (isJsonObject(body)) Object.assign(input, body)
  return { parameters, input, body, type }
}

/** Pointer to the schema of a body that an operation declares itself, by its own position. */
function pointerOf(
  { item, path, method }: Pick<DeclaredOperation, 'item' | 'path' | 'method'>,
  parameter: JsonObject,
): readonly string[] | undefined {
  const own = [objectMember(item, method)['parameters']].flat().indexOf(parameter)
  return own < 0 ? undefined : ['paths', path, method, 'parameters', String(own), 'schema']
}

function declaredParameters(root: JsonObject, item: JsonObject, spec: JsonObject): JsonObject[] {
  const byName = new Map<string, JsonObject>()
  for (const each of [item['parameters'], spec['parameters']].flat()) {
    const found = resolveLocal(root, each)
    if (isJsonObject(found)) byName.set(`${String(found['in'])} ${String(found['name'])}`, found)
  }
  return [...byName.values()]
}

const memberOf = ({ input }: ProposedEndpoint, name: string, place: string): string =>
  Object.hasOwn(objectMember(input, 'properties'), `${place}_${name}`) ? `${place}_${name}` : name

const chosenType = (types: readonly string[], { body, encoding }: ProposedEndpoint) =>
  types.find((type) => type === encoding?.contentType) ??
  types.find((type) =>
    body === 'form'
      ? type.includes('urlencoded')
      : body === 'multipart'
        ? type.includes('multipart')
        : /json|\*/.test(type),
  )

/** Lets `swagger-client` build the request of a document that has this operation alone. */
function buildExpected(
  { root, path, method, item }: DeclaredOperation,
  { parameters, body, type }: Samples,
  build: (options: JsonObject) => BuiltRequest,
): BuiltRequest {
  const spec = objectMember(item, method)
  const declared = declaredParameters(root, item, spec).filter(
    ({ in: place }) => place !== 'header' && place !== 'cookie',
  )
  const isSwagger = root['swagger'] !== undefined
  const bodyName = declared.find((each) => each['in'] === 'body')?.['name']
  const forms = isSwagger && isJsonObject(body) && bodyName === undefined ? body : {}
  const request = resolveLocal(root, spec['requestBody'])
  const one = {
    ...spec,
    operationId: 'op',
    parameters: declared.map((each) => ({ ...each, required: false })),
    ...(isJsonObject(request) && { requestBody: request }),
    security: [],
  }
  return build({
    spec: {
      ...(isSwagger
        ? { swagger: '2.0', host: 'api.example', schemes: ['https'], consumes: root['consumes'] }
        : { openapi: root['openapi'], servers: [{ url: BASE }] }),
      info: { title: 'x', version: '1' },
      paths: { [path]: { [method]: { ...one, servers: undefined } } },
    },
    operationId: 'op',
    parameters: {
      ...parameters,
      ...(bodyName !== undefined && { [`body.${bodyName as string}`]: body }),
      ...Object.fromEntries(
        Object.entries(forms).map(([name, value]) => [`formData.${name}`, value]),
      ),
    },
    ...(!isSwagger && body !== undefined && { requestBody: body, requestContentType: type }),
  })
}

const pairsIn = (text: string): readonly string[] =>
  [...new URLSearchParams(text)].map((pair) => JSON.stringify(pair)).toSorted()

function bodyDifference(
  kind: ProposedEndpoint['body'],
  sent: string | Uint8Array | undefined,
  expected: unknown,
  sample: unknown,
): string | undefined {
  if (kind === 'json') {
    const wanted = typeof expected === 'string' ? parsed(expected) : (expected ?? sample)
    return isDeepStrictEqual(parsed(String(sent)), parsed(JSON.stringify(wanted)))
      ? undefined
      : `body: ${String(sent).slice(0, 200)} not ${JSON.stringify(expected)?.slice(0, 200)}`
  }
  if (kind === 'form' && typeof expected === 'string') {
    return isDeepStrictEqual(pairsIn(String(sent)), pairsIn(expected))
      ? undefined
      : `form: ${String(sent).slice(0, 200)} not ${expected.slice(0, 200)}`
  }
  if (kind === 'multipart' && isJsonObject(sample)) {
    const text = Buffer.from(sent ?? '').toString('latin1')
    const absent = Object.keys(sample).find((name) => !text.includes(`name="${name}"`))
    return absent === undefined ? undefined : `multipart: no part ${absent}`
  }
  return undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
