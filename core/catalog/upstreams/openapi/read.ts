import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import { cleanMarkup } from '../../../text.ts'
import type { EndpointInfo } from '../store.ts'
import { isSelected, type OperationChoice, operationChoices } from './choice.ts'
import type { EndpointLimits, Operation } from './document.ts'
import { type ProposedEndpoint, proposeEndpoint } from './operation.ts'
import { assertVersion, parseDocument, upgradeOpenApi } from './parse.ts'
import { type Gap, RefResolver } from './refs.ts'
import { SchemaReader } from './schema-reader.ts'
import { needsSecret, type RequiredSecret, readSecurity } from './security.ts'

/** Contents of a document, as far as they can be sold. */
export interface ImportedApi {
  readonly title: string | undefined
  readonly summary: string | undefined
  readonly servers: readonly string[]
  readonly endpoints: readonly ProposedEndpoint[]
  /** Request headers that are passed on from callers. */
  readonly requestHeaders: readonly string[]
  /** Secrets that the API requires. */
  readonly wants: readonly RequiredSecret[]
  /** Sets of these secrets, as `header X-Key`, each of which is enough. */
  readonly secretChoices: readonly (readonly string[])[]
  /** Endpoints that require a secret, such as `GET /weather`. */
  readonly guarded: readonly string[]
  readonly gaps: readonly Gap[]
  /** Number of selected operations beyond the limit of a service. */
  readonly leftOut: number
  /** Possible selections, if operations were left out. */
  readonly choices: readonly OperationChoice[]
  /** Selectors that match nothing. */
  readonly unknown: readonly string[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
const ENDPOINTS_MAX = 100
/** Request headers of a service. */
const HEADERS_MAX = 20
/** Operations that are examined. */
const OPERATIONS_MAX = 1_000
const CHOICES_SHOWN = 10

/** Settings of an import. */
export interface ImportOptions extends EndpointLimits {
  /** Selectors: `GET /weather`, `/weather` and all paths below it, or a tag; empty for all. */
  readonly only?: readonly string[]
}

/** Reads an OpenAPI document that has no other documents. @throws Fault `openapi_unreadable` */
export const readOpenApi = (text: string, options: ImportOptions = {}): ImportedApi =>
  readSelected(selectPaths(parseDocument(text), options.only ?? []), options)

/** Reads a document reduced by `selectPaths`. @throws Fault `openapi_unreadable` */
export function readSelected(
  document: JsonObject,
  { only = [], ...limits }: ImportOptions,
): ImportedApi {
  const root = upgradeOpenApi(document)
  const refs = new RefResolver(root)
  const reader = { refs, schemas: new SchemaReader(refs), limits }
  const info = objectMember(root, 'info')
  const endpoints: ProposedEndpoint[] = []
  const guarded: { readonly name: string; readonly spec: JsonObject }[] = []
  const all = [...readOperations(root, refs)]
  const selected = all.filter(
    (each) => only.length === 0 || only.some((selector) => isSelected(selector, each)),
  )
  if (all.length === 0) refs.addGap('paths', nothingNotice(root))
  const servers = commonServers(root, selected)
  const [server] = servers
  const shapes = new Set<string>()
  let examined = 0
  for (const operation of selected.slice(0, OPERATIONS_MAX)) {
    if (endpoints.length === ENDPOINTS_MAX) break
    examined += 1
    const [own] = serversOf(root, operation)
    if (own !== server) {
      refs.addGap(operation.at, `its server is ${own}: select it with "only" for another service`)
      continue
    }
    const shape = `${operation.method} ${operation.path.replaceAll(/\{[^{}]+\}/g, '{}')}`
    if (shapes.has(shape)) refs.addGap(operation.at, 'the path is the same as another one')
    const found = shapes.has(shape) ? undefined : proposeEndpoint(reader, operation)
    if (!found) continue
    shapes.add(shape)
    endpoints.push(found)
    if (needsSecret(root, operation.spec))
      guarded.push({ name: `${found.method} ${found.path}`, spec: operation.spec })
  }
  const headers = [...new Set(endpoints.flatMap((each) => each.headers))]
  for (const name of headers.slice(HEADERS_MAX)) {
    refs.addGap(`header ${name}`, `a service passes on at most ${HEADERS_MAX} headers`)
  }
  const specs = guarded.map(({ spec }) => spec)
  const security = readSecurity(root, refs, specs, server)
  const leftOut = selected.length - examined
  const choices = leftOut > 0 ? operationChoices(all) : []
  const [next] = selected.slice(examined)
  return {
    title: shortText(info['title'], 100),
    summary: shortText(info['summary'] ?? info['description'], 500),
    servers,
    endpoints,
    requestHeaders: headers.slice(0, HEADERS_MAX),
    wants: security.wants,
    secretChoices: security.choices,
    guarded: guarded.map(({ name }) => name),
    gaps: next ? [{ at: next.at, what: leftOutNotice(leftOut, choices) }, ...refs.gaps] : refs.gaps,
    leftOut,
    choices,
    unknown: only.filter((selector) => !all.some((each) => isSelected(selector, each))),
  }
}

/**
 * Reduces a document to the paths that selectors may select, so that limits apply to them alone.
 * @throws Fault `openapi_unreadable` for another version
 */
export function selectPaths(document: JsonObject, only: readonly string[]): JsonObject {
  assertVersion(document)
  if (only.length === 0) return document
  const paths = Object.entries(objectMember(document, 'paths'))
  const mayBeSelected = ([path, item]: [string, unknown]): boolean =>
    isJsonObject(item) &&
    ('$ref' in item ||
      METHODS.some((method) => {
        const spec = item[method]
        if (!isJsonObject(spec)) return false
        const name = method.toUpperCase() as EndpointInfo['method']
        const operation = { method: name, path, item, spec, at: `${name} ${path}` }
        return '$ref' in spec || only.some((selector) => isSelected(selector, operation))
      }))
  return { ...document, paths: Object.fromEntries(paths.filter(mayBeSelected)) }
}

const nothingNotice = ({ webhooks }: JsonObject): string => {
  const has = isJsonObject(webhooks) ? 'only webhooks, which the API sends' : 'none'
  return `no operation that callers can request: the document declares ${has}`
}

const leftOutNotice = (leftOut: number, choices: readonly OperationChoice[]): string =>
  `${leftOut} operations from here on were left out: ` +
  `a service has at most ${ENDPOINTS_MAX} endpoints. ` +
  'To choose others, retire this draft and import again, with "only": ' +
  choices
    .slice(0, CHOICES_SHOWN)
    .map(({ only, operations }) => `${only} (${operations})`)
    .concat(choices.length > CHOICES_SHOWN ? '…' : [])
    .join(', ')

const shortText = (value: unknown, max: number): string | undefined =>
  cleanMarkup(value, max) || undefined

function* readOperations(root: JsonObject, refs: RefResolver): Generator<Operation> {
  const paths = objectMember(root, 'paths')
  for (const [path, given] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue // an extension
    const item = refs.resolve(given, `paths/${path}`)
    for (const method of item ? unsoldMethods(item) : []) {
      refs.addGap(`${method.toUpperCase()} ${path}`, 'the method is not supported')
    }
    for (const method of METHODS) {
      const at = `${method.toUpperCase()} ${path}`
      const spec = item && refs.resolve(item[method], at)
      if (!item || !spec) continue
      yield { method: method.toUpperCase() as EndpointInfo['method'], path, item, spec, at }
    }
  }
}

/** Methods of an item that cannot be sold; HEAD and OPTIONS are answered by the hub itself. */
const unsoldMethods = (item: JsonObject): readonly string[] => [
  ...['trace', 'query'].filter((method) => isJsonObject(item[method])),
  ...Object.keys(objectMember(item, 'additionalOperations')),
]

/** Servers of most operations; of several such, those of the first. */
function commonServers(root: JsonObject, operations: readonly Operation[]): readonly string[] {
  const all = operations.map((operation) => serversOf(root, operation))
  const groups = [...Map.groupBy(all, ([first]) => first).values()]
  const [most = []] = groups.toSorted((a, b) => b.length - a.length)
  return most[0] ?? readServers(root)
}

/** Servers of an operation, its path or the document, whichever names any first. */
function serversOf(root: JsonObject, { spec, item }: Operation): readonly string[] {
  const named = [spec, item].find((each) => readServers(each).length > 0)
  return readServers(named ?? root)
}

function readServers({ servers }: JsonObject): readonly string[] {
  if (!Array.isArray(servers)) return []
  return servers.filter(isJsonObject).flatMap(({ url, variables }) => {
    if (typeof url !== 'string') return []
    const named = isJsonObject(variables) ? variables : {}
    return url.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
      const variable = named[name]
      const value = isJsonObject(variable) ? variable['default'] : undefined
      return typeof value === 'string' ? value : whole
    })
  })
}
