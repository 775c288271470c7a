import { EgressError } from '../../../egress/errors.ts'
import type { Egress } from '../../../egress/http.ts'
import { isJson } from '../../../payments/paying/terms.ts'
import type { ListingMethod } from '../store.ts'
import { canonicalUrl, type UrlRules } from './canonical.ts'
import { type Described, methodOf, schemasOf, usageOf } from './normalise.ts'

type Json = Readonly<Record<string, unknown>>

/** Something that an origin says it sells; its own 402 tells the terms. */
export interface Target {
  readonly url: string
  /** Undefined: whatever answers 402. */
  readonly method: ListingMethod | undefined
  readonly described: Described
}

/** A document that was looked for. */
export interface OriginDocument {
  readonly path: string
  readonly found: boolean
  /** What is wrong with it, or how much it names. */
  readonly note: string
}

export interface OriginReading {
  readonly targets: readonly Target[]
  readonly documents: readonly OriginDocument[]
}

const BYTES_MAX = 4 * 1_048_576
const TARGETS_MAX = 500

type Reader = (document: unknown, origin: string) => readonly Target[] | string

/** In the order in which crawlers of x402 look; the first that names a resource is taken. */
const DOCUMENTS: readonly (readonly [path: string, read: Reader])[] = [
  ['/openapi.json', readOpenApi],
  ['/.well-known/x402', readWellKnown],
  ['/.well-known/x402.json', readWellKnown],
]

/**
 * What an origin says it sells, by its own documents; where it has none, its root. Only resources
 * of its own host count.
 */
export async function readOrigin(
  egress: Egress,
  origin: string,
  rules: UrlRules,
): Promise<OriginReading> {
  const documents: OriginDocument[] = []
  for (const [path, read] of DOCUMENTS) {
    const { document, note } = await documentAt(egress, `${origin}${path}`)
    const named = document === undefined ? note : read(document, origin)
    const targets = typeof named === 'string' ? [] : ownOf(named, origin, rules)
    const found = document !== undefined
    if (typeof named === 'string') documents.push({ path, found, note: named })
    else documents.push({ path, found, note: `names ${targets.length} resources of this host` })
    if (targets.length > 0) return { targets, documents }
  }
  return { targets: [{ url: `${origin}/`, method: undefined, described: {} }], documents }
}

async function documentAt(egress: Egress, url: string) {
  try {
    const { status, body } = await egress.request({
      url,
      method: 'GET',
      headers: { accept: 'application/json' },
      maxBytes: BYTES_MAX,
      timeouts: { totalMs: 15_000 },
    })
    if (status !== 200) return { document: undefined, note: `answered ${status}` }
    const document: unknown = JSON.parse(body.toString('utf8'))
    return isJson(document) ? { document, note: '' } : { document: undefined, note: NOT_JSON }
  } catch (error) {
    if (error instanceof EgressError) return { document: undefined, note: error.message }
    return { document: undefined, note: NOT_JSON }
  }
}

const NOT_JSON = 'is not a JSON object'

/** Checked URLs of the origin's own host, each with its method once. */
function ownOf(named: readonly Target[], origin: string, rules: UrlRules): Target[] {
  const { host } = new URL(origin)
  const own = new Map<string, Target>()
  for (const target of named.slice(0, TARGETS_MAX)) {
    const canonical = canonicalUrl(target.url, rules)
    if (typeof canonical === 'string' || new URL(canonical.url).host !== host) continue
    own.set(`${target.method ?? ''} ${canonical.url}`, { ...target, url: canonical.url })
  }
  return [...own.values()]
}

const VERBS = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const

/** OpenAPI: operations with `x-payment-info`, or with a 402 among their answers. */
function readOpenApi(document: unknown, origin: string): readonly Target[] | string {
  if (!isJson(document) || !isJson(document['paths'])) return 'has no paths'
  const info = inner(document, 'info')
  const base = baseOf(document, origin)
  const targets = Object.entries(document['paths']).flatMap(([path, item]) =>
    VERBS.flatMap((verb) => {
      const operation = isJson(item) ? inner(item, verb) : {}
      const isPaid = isJson(operation['x-payment-info']) || '402' in inner(operation, 'responses')
      const method = verb.toUpperCase() as ListingMethod
      if (!isPaid || !path.startsWith('/')) return []
      return [{ url: `${base}${path}`, method, described: describedBy(operation, info) }]
    }),
  )
  return targets.length > 0 ? targets : 'names no operation with x-payment-info or a 402'
}

/** Where the paths begin: the first server, if it is one of the origin. */
function baseOf(document: Json, origin: string): string {
  const servers = Array.isArray(document['servers']) ? document['servers'] : []
  const named = isJson(servers[0]) ? servers[0]['url'] : undefined
  const base = typeof named === 'string' ? URL.parse(named, origin) : null
  if (!base || base.origin !== origin) return origin
  return `${base.origin}${base.pathname.replace(/\/$/, '')}`
}

function describedBy(operation: Json, info: Json): Described {
  const content = inner(inner(operation, 'requestBody'), 'content')
  const answers = inner(inner(inner(operation, 'responses'), '200'), 'content')
  const parameters = operation['parameters']
  return {
    name: operation['summary'] ?? operation['operationId'],
    description: operation['description'] ?? operation['summary'] ?? info['description'],
    tags: operation['tags'],
    provider: info['title'],
    inputSchema:
      inner(content, 'application/json')['schema'] ??
      Object.values(content).find(isJson)?.['schema'] ??
      (Array.isArray(parameters) && parameters.length > 0 ? { parameters } : null),
    outputSchema: inner(answers, 'application/json')['schema'] ?? null,
  }
}

/** `{resources: [url]}` of x402scan, and `{items: […]}` of the draft. */
function readWellKnown(document: unknown): readonly Target[] | string {
  if (!isJson(document)) return NOT_JSON
  const list = document['resources'] ?? document['items']
  if (!Array.isArray(list)) return 'has neither resources nor items'
  const targets = list.slice(0, TARGETS_MAX).flatMap(wellKnownTarget)
  return targets.length > 0 ? targets : 'names no URL'
}

function wellKnownTarget(row: unknown): Target[] {
  if (typeof row === 'string') {
    // Some write the method before the URL.
    const [, verb, url = row] = /^([A-Z]{3,6}) (.+)$/.exec(row) ?? []
    return [{ url, method: methodOf(usageOf({ method: verb })), described: {} }].map((target) =>
      verb === undefined ? { ...target, method: undefined } : target,
    )
  }
  if (!isJson(row)) return []
  const resource = row['resource'] ?? row['url']
  const url = isJson(resource) ? resource['url'] : resource
  if (typeof url !== 'string') return []
  const use = usageOf(row)
  const described = {
    name: row['name'],
    description: row['description'] ?? inner(row, 'resource')['description'],
    tags: row['tags'],
    ...schemasOf(use),
  }
  const isSaid = use.input['method'] !== undefined
  return [{ url, method: isSaid ? methodOf(use) : undefined, described }]
}

const inner = (value: Json, name: string): Json => {
  const found = value[name]
  return isJson(found) ? found : {}
}
