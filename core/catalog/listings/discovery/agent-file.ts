import { EgressError } from '../../../egress/errors.ts'
import type { Egress } from '../../../egress/http.ts'
import type { TargetRules } from '../../../egress/target.ts'
import { isJsonObject, type JsonObject, tryParseJson } from '../../../json.ts'
import type { Reason } from '../reasons.ts'
import { canonicalUrl } from './canonical-url.ts'
import type { ListingTarget } from './read-origin.ts'

const BYTES_MAX = 262_144
const ENDPOINTS_MAX = 10
const CID = /^[A-Za-z0-9]{46,100}$/

/**
 * Reads the file of an ERC-8004 agentURI: over https, through an IPFS gateway, or inside the URI
 * itself (`data:`, or the bare JSON that some agents use).
 * @param gateway URL ending with a slash, to which the content id is appended
 */
export async function readAgentFile(
  egress: Egress,
  uri: string,
  gateway: string,
  rules: TargetRules,
): Promise<JsonObject | Reason> {
  if (uri.length > BYTES_MAX * 2) return 'too_large'
  if (uri.startsWith('data:')) return parseObject(inlineText(uri))
  if (uri.trimStart().startsWith('{')) return parseObject(uri)
  const named = uri.startsWith('ipfs://') ? gatewayUrl(uri, gateway) : uri
  const canonical = canonicalUrl(named, rules)
  if (typeof canonical === 'string') return canonical
  try {
    const { status, body } = await egress.request({
      url: canonical.url,
      method: 'GET',
      headers: { accept: 'application/json' },
      maxBytes: BYTES_MAX,
      timeouts: { totalMs: 15_000 },
    })
    return status === 200 ? parseObject(body.toString('utf8')) : 'agent_uri'
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    return error.code === 'upstream_too_large' ? 'too_large' : 'agent_uri'
  }
}

function gatewayUrl(uri: string, gateway: string): string | undefined {
  const [, cid = '', path = ''] = /^ipfs:\/\/(?:ipfs\/)?([^/?#]+)(\/[^?#]*)?/.exec(uri) ?? []
  return CID.test(cid) ? `${gateway}${cid}${path}` : undefined
}

/** RFC 2397. */
function inlineText(uri: string): string {
  const comma = uri.indexOf(',')
  const [head, data] = [uri.slice(0, comma), uri.slice(comma + 1)]
  if (/;base64$/i.test(head)) return Buffer.from(data, 'base64').toString('utf8')
  try {
    return decodeURIComponent(data)
  } catch {
    return data
  }
}

function parseObject(text: string): JsonObject | Reason {
  const value = tryParseJson(text)
  return isJsonObject(value) ? value : 'agent_uri'
}

/** Kinds of agent services that are ordinary HTTP APIs. */
const HTTP_SERVICE = /^(?:x402|web|api|rest|https?|openapi|service|endpoint)/i

/** Lists the x402 endpoints in an agent's file; terms come from their 402 responses. Pure. */
export function agentTargets(file: JsonObject): readonly ListingTarget[] | Reason {
  if (file['active'] === false) return 'not_active'
  const listed = [file['services'], file['endpoints']].find(Array.isArray) ?? []
  const services = listed.filter(isJsonObject)
  const takesX402 = [file['x402Support'], file['x402support']].includes(true)
  const description = {
    name: file['name'],
    description: file['description'],
    tags: file['tags'] ?? file['capabilities'],
    provider: file['name'],
  }
  const targets = services
    .filter((service) => {
      const kinds = [service['name'], service['protocol'], service['type']].map(String)
      return kinds.some((kind) => /x402/i.test(kind) || (takesX402 && HTTP_SERVICE.test(kind)))
    })
    .flatMap(({ endpoint }) => (isUrl(endpoint) ? [endpoint] : []))
  const urls = [...new Set(targets)].slice(0, ENDPOINTS_MAX)
  return urls.length === 0
    ? 'no_endpoints'
    : urls.map((url) => ({ url, method: undefined, description }))
}

const isUrl = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\//i.test(value)
