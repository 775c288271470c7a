import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import { cleanText } from '../../../text.ts'
import type { EndpointInfo } from '../store.ts'
import { isSelected, type OperationChoice, operationChoices } from './choice.ts'
import { type Operation, type ProposedEndpoint, proposeEndpoint } from './operation.ts'
import { parseOpenApi } from './parse.ts'
import { type Gap, RefResolver } from './refs.ts'

/** Contents of a document, as far as they can be sold. */
export interface ImportedApi {
  readonly title: string | undefined
  readonly summary: string | undefined
  readonly servers: readonly string[]
  readonly endpoints: readonly ProposedEndpoint[]
  /** Secrets that the API requires. */
  readonly wants: readonly RequiredSecret[]
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

/** Place of a required secret in the request. */
interface RequiredSecret {
  readonly in: 'header' | 'query'
  readonly name: string
  /** Text before the secret: `Bearer `. */
  readonly prefix: string
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
const ENDPOINTS_MAX = 100
/** Operations that are examined. */
const OPERATIONS_MAX = 1_000
const WANTS_MAX = 20
const CHOICES_SHOWN = 10

/**
 * Reads an OpenAPI document.
 * @param only selectors: `GET /weather`, `/weather` and all paths below it, or a tag; empty for all
 * @throws Fault `openapi_unreadable`
 */
export function readOpenApi(text: string, only: readonly string[] = []): ImportedApi {
  const root = parseOpenApi(text)
  const refs = new RefResolver(root)
  const info = objectMember(root, 'info')
  const endpoints: ProposedEndpoint[] = []
  const guarded: string[] = []
  const all = [...readOperations(root, refs)]
  const selected = all.filter(
    (each) => only.length === 0 || only.some((selector) => isSelected(selector, each)),
  )
  let examined = 0
  for (const operation of selected.slice(0, OPERATIONS_MAX)) {
    if (endpoints.length === ENDPOINTS_MAX) break
    examined += 1
    const found = proposeEndpoint(refs, operation)
    if (found) endpoints.push(found)
    if (found && needsSecret(root, operation.spec)) guarded.push(`${found.method} ${found.path}`)
  }
  const leftOut = selected.length - examined
  const choices = leftOut > 0 ? operationChoices(all) : []
  const [next] = selected.slice(examined)
  return {
    title: shortText(info['title'], 100),
    summary: shortText(info['summary'] ?? info['description'], 500),
    servers: readServers(root),
    endpoints,
    wants: readRequiredSecrets(root, refs).slice(0, WANTS_MAX),
    guarded,
    gaps: next ? [{ at: next.at, what: leftOutNotice(leftOut, choices) }, ...refs.gaps] : refs.gaps,
    leftOut,
    choices,
    unknown: only.filter((selector) => !all.some((each) => isSelected(selector, each))),
  }
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
  cleanText(value, max) || undefined

function* readOperations(root: JsonObject, refs: RefResolver): Generator<Operation> {
  const paths = objectMember(root, 'paths')
  for (const [path, given] of Object.entries(paths)) {
    const item = refs.resolve(given, `paths/${path}`)
    for (const method of METHODS) {
      const at = `${method.toUpperCase()} ${path}`
      const spec = item && refs.resolve(item[method], at)
      if (!item || !spec) continue
      yield { method: method.toUpperCase() as EndpointInfo['method'], path, item, spec, at }
    }
  }
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

/** Returns true if every security alternative needs a secret; an empty one needs none. */
function needsSecret(root: JsonObject, { security = root['security'] }: JsonObject): boolean {
  const ways: readonly unknown[] = Array.isArray(security) ? security : []
  return ways.length > 0 && ways.every((way) => isJsonObject(way) && Object.keys(way).length > 0)
}

function readRequiredSecrets(root: JsonObject, refs: RefResolver): readonly RequiredSecret[] {
  const components = objectMember(root, 'components')
  const schemes = objectMember(components, 'securitySchemes')
  return Object.entries(schemes).flatMap(([key, given]) => {
    const scheme = refs.resolve(given, `securitySchemes/${key}`) ?? {}
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
    refs.addGap(`securitySchemes/${key}`, `the security scheme ${String(type)} is not supported`)
    return []
  })
}
