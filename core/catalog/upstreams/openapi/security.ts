import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import type { RefResolver } from './refs.ts'

/** Secret that an API requires, and its place in the request. */
export interface RequiredSecret {
  readonly in: 'header' | 'query' | 'oauth2'
  readonly name: string
  /** Text before the secret: `Bearer `. */
  readonly prefix: string
  /** Endpoint that issues tokens, if `in` is `oauth2`. */
  readonly tokenUrl?: string
  /** Scopes that the operations need, separated by spaces. */
  readonly scope?: string
}

/** Secrets that imported operations require. */
interface ImportedSecurity {
  readonly wants: readonly RequiredSecret[]
  /** Sets of secrets, as `header X-Key`, each of which is enough; empty without a choice. */
  readonly choices: readonly (readonly string[])[]
}

const WANTS_MAX = 20
const CHOICES_MAX = 10

/** Returns true if every security alternative needs a secret; an empty one needs none. */
export function needsSecret(root: JsonObject, operation: JsonObject): boolean {
  const ways = waysOf(root, operation)
  return ways.length > 0 && ways.every((way) => Object.keys(way).length > 0)
}

/**
 * @param guarded the operations for which `needsSecret` returns true
 * @param server base of token URLs, which may be relative (OpenAPI 3.1 §4.6)
 */
export function readSecurity(
  root: JsonObject,
  refs: RefResolver,
  guarded: readonly JsonObject[],
  server: string | undefined,
): ImportedSecurity {
  const ways = guarded.map((operation) => waysOf(root, operation))
  const schemes = objectMember(objectMember(root, 'components'), 'securitySchemes')
  const secrets = new Map(
    Object.entries(schemes).flatMap(([key, given]) => {
      const scopes = ways.flat().flatMap((way) => way[key] ?? [])
      const found = readScheme(refs, key, given, new Set(scopes.map(String)))
      return found ? [[key, withTokenUrl(found, server)] as const] : []
    }),
  )
  const distinct = new Map([...secrets.values()].map((each) => [JSON.stringify(each), each]))
  return {
    wants: [...distinct.values()].slice(0, WANTS_MAX),
    choices: choicesOf(ways, secrets).slice(0, CHOICES_MAX),
  }
}

function withTokenUrl(secret: RequiredSecret, server: string | undefined): RequiredSecret {
  const url = secret.tokenUrl === undefined ? null : URL.parse(secret.tokenUrl, server)
  return url ? { ...secret, tokenUrl: url.href } : secret
}

const waysOf = (root: JsonObject, { security = root['security'] }: JsonObject) =>
  Array.isArray(security) ? security.map((way) => (isJsonObject(way) ? way : {})) : []

function readScheme(
  refs: RefResolver,
  key: string,
  given: unknown,
  scopes: ReadonlySet<string>,
): RequiredSecret | undefined {
  const at = `securitySchemes/${key}`
  const scheme = refs.resolve(given, at) ?? {}
  const { type, name, in: place } = scheme
  const kind = String(scheme['scheme']).toLowerCase()
  const isSent = place === 'header' || place === 'query'
  if (type === 'apiKey' && typeof name === 'string' && isSent)
    return { in: place, name, prefix: '' }
  const bearer = { in: 'header', name: 'Authorization', prefix: 'Bearer ' } as const
  if (type === 'http' && kind === 'bearer') return bearer
  if (type === 'http' && kind === 'basic') return { ...bearer, prefix: 'Basic ' }
  if (type === 'oauth2' || type === 'openIdConnect') {
    const { tokenUrl } = objectMember(objectMember(scheme, 'flows'), 'clientCredentials')
    if (typeof tokenUrl === 'string') {
      const scope = [...scopes].join(' ')
      return { ...bearer, in: 'oauth2', tokenUrl, ...(scope !== '' && { scope }) }
    }
    refs.addGap(at, `${type} without client credentials is not supported: ${STATIC_HEADER}`)
    return bearer
  }
  return refs.addGap(at, `the security scheme ${String(type)} is not supported`)
}

const STATIC_HEADER =
  'set a token that lasts as the header Authorization ("Bearer …"), if your API issues one'

/** Returns the smallest sets that satisfy an alternative of each operation, if several do. */
function choicesOf(
  ways: readonly (readonly JsonObject[])[],
  secrets: ReadonlyMap<string, RequiredSecret>,
): readonly (readonly string[])[] {
  const labels = new Map([...secrets].map(([key, secret]) => [key, labelOf(secret)]))
  const required = ways.map((alternatives) =>
    alternatives.flatMap((way) => {
      const keys = Object.keys(way)
      const known = keys.flatMap((key) => labels.get(key) ?? [])
      return known.length === keys.length ? [new Set(known)] : []
    }),
  )
  const enough = required
    .flat()
    .filter((set) => required.every((sets) => sets.some((each) => isSubset(each, set))))
  const smallest = enough.filter(
    (set) => !enough.some((each) => each.size < set.size && isSubset(each, set)),
  )
  const texts = new Set(smallest.map((set) => JSON.stringify([...set].sort())))
  return texts.size > 1 ? [...texts].map((text) => JSON.parse(text) as string[]) : []
}

const isSubset = (part: ReadonlySet<string>, whole: ReadonlySet<string>): boolean =>
  [...part].every((each) => whole.has(each))

const labelOf = ({ in: place, name, prefix }: RequiredSecret): string =>
  `${place} ${name}${place === 'header' && prefix !== '' ? ` (${prefix.trim()})` : ''}`
