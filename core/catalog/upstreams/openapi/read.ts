import { isJsonObject, type JsonObject } from '../../../json.ts'
import type { EndpointInfo } from '../store.ts'
import { type Choice, choicesOf, isMeant } from './choice.ts'
import { type Operation, type Proposed, proposed } from './operation.ts'
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
  /** Operations that were chosen, or that there are, and that no service has room for. */
  readonly leftOut: number
  /** If some were left out: what there is to choose among. */
  readonly choices: readonly Choice[]
  /** What was chosen, and is not there. */
  readonly unknown: readonly string[]
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
const CHOICES_TOLD = 10

/**
 * Reads an OpenAPI document.
 * @param only what of it: `GET /weather`, `/weather` and all below it, or a tag; empty: all of it
 * @throws Fault `openapi_unreadable`
 */
export function readOpenApi(text: string, only: readonly string[] = []): Understood {
  const root = parseOpenApi(text)
  const refs = new Refs(root)
  const info = isJsonObject(root['info']) ? root['info'] : {}
  const endpoints: Proposed[] = []
  const guarded: string[] = []
  const all = [...operationsOf(root, refs)]
  const chosen = all.filter((each) => only.length === 0 || only.some((it) => isMeant(it, each)))
  let looked = 0
  for (const operation of chosen.slice(0, OPERATIONS_MAX)) {
    if (endpoints.length === ENDPOINTS_MAX) break
    looked += 1
    const found = proposed(refs, operation)
    if (found) endpoints.push(found)
    if (found && isGuarded(root, operation.spec)) guarded.push(`${found.method} ${found.path}`)
  }
  const leftOut = chosen.length - looked
  const choices = leftOut > 0 ? choicesOf(all) : []
  const [next] = chosen.slice(looked)
  return {
    title: textOf(info['title'], 100),
    summary: textOf(info['summary'] ?? info['description'], 500),
    servers: serversOf(root),
    endpoints,
    wants: wantsOf(root, refs).slice(0, WANTS_MAX),
    guarded,
    gaps: next ? [{ at: next.at, what: toldOf(leftOut, choices) }, ...refs.gaps] : refs.gaps,
    leftOut,
    choices,
    unknown: only.filter((it) => !all.some((each) => isMeant(it, each))),
  }
}

const toldOf = (leftOut: number, choices: readonly Choice[]): string =>
  `${leftOut} operations from here on are left out: a service has ${ENDPOINTS_MAX} endpoints. ` +
  'To choose others, retire this draft and import again, with "only": ' +
  choices
    .slice(0, CHOICES_TOLD)
    .map(({ only, operations }) => `${only} (${operations})`)
    .concat(choices.length > CHOICES_TOLD ? '…' : [])
    .join(', ')

const textOf = (value: unknown, max: number): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, max) : undefined

function* operationsOf(root: JsonObject, refs: Refs): Generator<Operation> {
  const paths = isJsonObject(root['paths']) ? root['paths'] : {}
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

function serversOf({ servers }: JsonObject): readonly string[] {
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

/** Each way to be let in wants something; an empty one would let anybody in. */
function isGuarded(root: JsonObject, { security = root['security'] }: JsonObject): boolean {
  const ways: readonly unknown[] = Array.isArray(security) ? security : []
  return ways.length > 0 && ways.every((way) => isJsonObject(way) && Object.keys(way).length > 0)
}

function wantsOf(root: JsonObject, refs: Refs): readonly Wanted[] {
  const components = isJsonObject(root['components']) ? root['components'] : {}
  const schemes = isJsonObject(components['securitySchemes']) ? components['securitySchemes'] : {}
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
