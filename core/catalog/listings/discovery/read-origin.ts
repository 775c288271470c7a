import { EgressError } from '../../../egress/errors.ts'
import type { Egress } from '../../../egress/http.ts'
import type { TargetRules } from '../../../egress/target.ts'
import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import type { ListingMethod } from '../store.ts'
import { canonicalUrl } from './canonical-url.ts'
import { type ResourceDescription, readMethod, readSchemas, readUsage } from './normalize.ts'

/** Resource that an origin claims to sell; its terms come from its own 402 response. */
export interface ListingTarget {
  readonly url: string
  /** Undefined if unknown; then the one that returns 402. */
  readonly method: ListingMethod | undefined
  readonly description: ResourceDescription
}

/** Document that was requested. */
export interface OriginDocument {
  readonly path: string
  readonly found: boolean
  /** Problem with it, or number of its resources. */
  readonly note: string
}

export interface OriginContents {
  readonly targets: readonly ListingTarget[]
  readonly documents: readonly OriginDocument[]
}

const BYTES_MAX = 4 * 1_048_576
const TARGETS_MAX = 500

type DocumentReader = (document: unknown, origin: string) => readonly ListingTarget[] | string

/** In the order of x402 crawlers; the first document with a resource is used. */
const DOCUMENTS: readonly (readonly [path: string, read: DocumentReader])[] = [
  ['/openapi.json', readOpenApi],
  ['/.well-known/x402', readWellKnown],
  ['/.well-known/x402.json', readWellKnown],
]

/** Reads what an origin sells on its own host, from its documents or else its root URL. */
export async function readOrigin(
  egress: Egress,
  origin: string,
  rules: TargetRules,
): Promise<OriginContents> {
  const documents: OriginDocument[] = []
  for (const [path, read] of DOCUMENTS) {
    const { document, note } = await fetchDocument(egress, `${origin}${path}`)
    const named = document === undefined ? note : read(document, origin)
    const targets = typeof named === 'string' ? [] : targetsOfOrigin(named, origin, rules)
    const found = document !== undefined
    if (typeof named === 'string') documents.push({ path, found, note: named })
    else documents.push({ path, found, note: `names ${targets.length} resources of this host` })
    if (targets.length > 0) return { targets, documents }
  }
  return { targets: [{ url: `${origin}/`, method: undefined, description: {} }], documents }
}

async function fetchDocument(egress: Egress, url: string) {
  try {
    const { status, body } = await egress.request({
      url,
      method: 'GET',
      headers: { accept: 'application/json' },
      maxBytes: BYTES_MAX,
      timeouts: { totalMs: 15_000 },
    })
    if (status !== 200) return { document: undefined, note: `returned status ${status}` }
    const document: unknown = JSON.parse(body.toString('utf8'))
    return isJsonObject(document) ? { document, note: '' } : { document: undefined, note: NOT_JSON }
  } catch (error) {
    if (error instanceof EgressError) return { document: undefined, note: error.message }
    return { document: undefined, note: NOT_JSON }
  }
}

const NOT_JSON = 'is not a JSON object'

/** Returns valid, distinct targets on the origin's own host. */
function targetsOfOrigin(
  named: readonly ListingTarget[],
  origin: string,
  rules: TargetRules,
): ListingTarget[] {
  const { host } = new URL(origin)
  const targets = new Map<string, ListingTarget>()
  for (const target of named.slice(0, TARGETS_MAX)) {
    const canonical = canonicalUrl(target.url, rules)
    if (typeof canonical === 'string' || new URL(canonical.url).host !== host) continue
    targets.set(`${target.method ?? ''} ${canonical.url}`, { ...target, url: canonical.url })
  }
  return [...targets.values()]
}

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const

/** Reads OpenAPI operations that have `x-payment-info` or a 402 response. */
function readOpenApi(document: unknown, origin: string): readonly ListingTarget[] | string {
  if (!isJsonObject(document) || !isJsonObject(document['paths'])) return 'has no paths'
  const info = objectMember(document, 'info')
  const base = readBaseUrl(document, origin)
  const targets = Object.entries(document['paths']).flatMap(([path, item]) =>
    METHODS.flatMap((verb) => {
      const operation = isJsonObject(item) ? objectMember(item, verb) : {}
      const isPaid =
        isJsonObject(operation['x-payment-info']) || '402' in objectMember(operation, 'responses')
      const method = verb.toUpperCase() as ListingMethod
      if (!isPaid || !path.startsWith('/')) return []
      return [{ url: `${base}${path}`, method, description: describeOperation(operation, info) }]
    }),
  )
  return targets.length > 0 ? targets : 'names no operation with x-payment-info or a 402'
}

/** Returns the base URL of the paths: the first server, if it is of this origin. */
function readBaseUrl(document: JsonObject, origin: string): string {
  const servers = Array.isArray(document['servers']) ? document['servers'] : []
  const named = isJsonObject(servers[0]) ? servers[0]['url'] : undefined
  const base = typeof named === 'string' ? URL.parse(named, origin) : null
  if (!base || base.origin !== origin) return origin
  return `${base.origin}${base.pathname.replace(/\/$/, '')}`
}

function describeOperation(operation: JsonObject, info: JsonObject): ResourceDescription {
  const content = objectMember(objectMember(operation, 'requestBody'), 'content')
  const answers = objectMember(objectMember(objectMember(operation, 'responses'), '200'), 'content')
  const parameters = operation['parameters']
  return {
    name: operation['summary'] ?? operation['operationId'],
    description: operation['description'] ?? operation['summary'] ?? info['description'],
    tags: operation['tags'],
    provider: info['title'],
    inputSchema:
      objectMember(content, 'application/json')['schema'] ??
      Object.values(content).find(isJsonObject)?.['schema'] ??
      (Array.isArray(parameters) && parameters.length > 0 ? { parameters } : null),
    outputSchema: objectMember(answers, 'application/json')['schema'] ?? null,
  }
}

/** Reads `{resources: [url]}` (x402scan) and `{items: […]}` (draft). */
function readWellKnown(document: unknown): readonly ListingTarget[] | string {
  if (!isJsonObject(document)) return NOT_JSON
  const list = document['resources'] ?? document['items']
  if (!Array.isArray(list)) return 'has neither resources nor items'
  const targets = list.slice(0, TARGETS_MAX).flatMap(wellKnownTarget)
  return targets.length > 0 ? targets : 'names no URL'
}

function wellKnownTarget(row: unknown): ListingTarget[] {
  if (typeof row === 'string') {
    // Some documents put the method before the URL.
    const [, verb, url = row] = /^([A-Z]{3,6}) (.+)$/.exec(row) ?? []
    const method = verb === undefined ? undefined : readMethod(readUsage({ method: verb }))
    return [{ url, method, description: {} }]
  }
  if (!isJsonObject(row)) return []
  const resource = row['resource'] ?? row['url']
  const url = isJsonObject(resource) ? resource['url'] : resource
  if (typeof url !== 'string') return []
  const use = readUsage(row)
  const description = {
    name: row['name'],
    description: row['description'] ?? objectMember(row, 'resource')['description'],
    tags: row['tags'],
    ...readSchemas(use),
  }
  const method = use.input['method'] === undefined ? undefined : readMethod(use)
  return [{ url, method, description }]
}
