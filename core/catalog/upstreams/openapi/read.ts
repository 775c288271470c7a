import { isObject, type Json } from '../schemas.ts'
import type { EndpointInfo } from '../store.ts'
import { type Proposed, proposed } from './operation.ts'
import { parseOpenApi } from './parse.ts'
import { type Gap, Refs } from './refs.ts'

/** What a document says of an API, as far as it can be sold. */
export interface Understood {
  readonly title: string | undefined
  readonly summary: string | undefined
  /** Where it says that it is. */
  readonly servers: readonly string[]
  readonly endpoints: readonly Proposed[]
  /** Secrets that it asks for. */
  readonly wants: readonly Wanted[]
  /** Endpoints that nobody may call without one, as `GET /weather`. */
  readonly guarded: readonly string[]
  readonly gaps: readonly Gap[]
}

/** Where a secret is to be put. */
interface Wanted {
  readonly in: 'header' | 'query'
  readonly name: string
  /** What stands before it: `Bearer `. */
  readonly prefix: string
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
const ENDPOINTS_MAX = 100
/** Operations that are looked at, and kinds of secrets that are told. */
const OPERATIONS_MAX = 1_000
const WANTS_MAX = 20

/**
 * Reads an OpenAPI document.
 * @throws Fault `openapi_unreadable`
 */
export function readOpenApi(text: string): Understood {
  const root = parseOpenApi(text)
  const refs = new Refs(root)
  const info = isObject(root['info']) ? root['info'] : {}
  const endpoints: Proposed[] = []
  const guarded: string[] = []
  let looked = 0
  for (const operation of operationsOf(root, refs)) {
    if (endpoints.length === ENDPOINTS_MAX || ++looked > OPERATIONS_MAX) {
      refs.gap(
        operation.at,
        `the first ${ENDPOINTS_MAX} endpoints are taken: what follows is left out`,
      )
      break
    }
    const found = proposed(refs, operation)
    if (found) endpoints.push(found)
    if (found && isGuarded(root, operation.spec)) guarded.push(`${found.method} ${found.path}`)
  }
  return {
    title: textOf(info['title'], 100),
    summary: textOf(info['summary'] ?? info['description'], 500),
    servers: serversOf(root),
    endpoints,
    wants: wantsOf(root, refs).slice(0, WANTS_MAX),
    guarded,
    gaps: refs.gaps,
  }
}

const textOf = (value: unknown, max: number): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, max) : undefined

function* operationsOf(root: Json, refs: Refs) {
  const paths = isObject(root['paths']) ? root['paths'] : {}
  for (const [path, given] of Object.entries(paths)) {
    const item = refs.object(given, `paths/${path}`)
    for (const method of METHODS) {
      const at = `${method.toUpperCase()} ${path}`
      const spec = item && refs.object(item[method], at)
      if (!item || !spec) continue
      yield { method: method.toUpperCase() as EndpointInfo['method'], path, item, spec, at }
    }
  }
}

function serversOf({ servers }: Json): readonly string[] {
  if (!Array.isArray(servers)) return []
  return servers.filter(isObject).flatMap(({ url, variables }) => {
    if (typeof url !== 'string') return []
    const named = isObject(variables) ? variables : {}
    return url.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
      const variable = named[name]
      const value = isObject(variable) ? variable['default'] : undefined
      return typeof value === 'string' ? value : whole
    })
  })
}

/** Each way to be let in wants something; an empty one would let anybody in. */
function isGuarded(root: Json, { security = root['security'] }: Json): boolean {
  const ways: readonly unknown[] = Array.isArray(security) ? security : []
  return ways.length > 0 && ways.every((way) => isObject(way) && Object.keys(way).length > 0)
}

function wantsOf(root: Json, refs: Refs): readonly Wanted[] {
  const components = isObject(root['components']) ? root['components'] : {}
  const schemes = isObject(components['securitySchemes']) ? components['securitySchemes'] : {}
  return Object.entries(schemes).flatMap(([key, given]) => {
    const scheme = refs.object(given, `securitySchemes/${key}`) ?? {}
    const { type, name, in: place } = scheme
    const kind = String(scheme['scheme']).toLowerCase()
    if (
      type === 'apiKey' &&
      typeof name === 'string' &&
      (place === 'header' || place === 'query')
    ) {
      return [{ in: place, name, prefix: '' }]
    }
    if (type === 'http' && (kind === 'bearer' || kind === 'basic')) {
      const prefix = kind === 'bearer' ? 'Bearer ' : 'Basic '
      return [{ in: 'header' as const, name: 'Authorization', prefix }]
    }
    refs.gap(`securitySchemes/${key}`, `${String(type)}: the hub cannot sign in this way`)
    return []
  })
}
