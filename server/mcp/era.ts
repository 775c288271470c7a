import { isJsonObject } from '../../core/json.ts'
import { RPC, RpcError } from './errors.ts'
import { metaOf, type Request } from './message.ts'

/** A modern client states its protocol version per request; a legacy one sends `initialize`. */
export type Era = 'modern' | 'legacy'

const MODERN = '2026-07-28'
/**
 * Newest first: the first is offered to clients that request another version. The first clients
 * with this transport requested the version before it, whose messages are the same.
 */
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
export const SUPPORTED: readonly string[] = [MODERN, ...LEGACY]

const VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** Reads a request header that may occur once. */
export type Header = (name: string) => string | undefined

const isLegacy = (version: string): boolean => (LEGACY as readonly string[]).includes(version)

/** Returns the era. Headers must match the body: proxies may read only them. @throws RpcError */
export function eraOf(request: Request, header: Header): Era {
  const sent = header('mcp-protocol-version')
  const meta = metaOf(request)
  const isModern =
    VERSION in meta ||
    (sent !== undefined && !isLegacy(sent)) ||
    request.method === 'server/discover'
  if (!isModern) return 'legacy'
  const version = meta[VERSION]
  if (version === undefined && sent !== undefined && !SUPPORTED.includes(sent)) {
    throw unsupported(sent)
  }
  if (typeof version !== 'string') throw missing(VERSION)
  if (sent !== version) throw mismatch('MCP-Protocol-Version', version, sent)
  if (version !== MODERN) throw unsupported(version)
  if (!isJsonObject(meta[CAPABILITIES])) throw missing(CAPABILITIES)
  assertHeadersMatch(request, header)
  return 'modern'
}

function assertHeadersMatch({ method, params }: Request, header: Header): void {
  const sent = header('mcp-method')
  if (sent !== method) throw mismatch('Mcp-Method', method, sent)
  if (method !== 'tools/call') return
  const { name } = params
  const named = decoded(header('mcp-name'))
  if (typeof name === 'string' && named !== name) throw mismatch('Mcp-Name', name, named)
}

/** Decodes `=?base64?…?=`, the form of names that are not valid in a header. */
function decoded(value: string | undefined): string | undefined {
  const base64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value ?? '')?.[1]
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString('utf8')
}

const unsupported = (requested: string): RpcError =>
  new RpcError(RPC.unsupportedVersion, `Protocol version ${requested} is not supported.`, {
    data: { supported: SUPPORTED, requested },
  })

const missing = (name: string): RpcError =>
  new RpcError(RPC.invalidParams, `params._meta lacks "${name}".`)

const mismatch = (header: string, body: string, sent: string | undefined): RpcError =>
  new RpcError(
    RPC.headerMismatch,
    sent === undefined
      ? `The header ${header} is missing.`
      : `The header ${header} says "${sent}", the body "${body}".`,
  )
