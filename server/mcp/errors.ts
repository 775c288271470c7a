import type { JsonObject } from '../../core/json.ts'

/** Error codes of JSON-RPC 2.0, and those added by MCP (2026-07-28, basic, error codes). */
export const RPC = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const

/** Protocol error, returned to the caller as it is. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: JsonObject | undefined
  /** HTTP status, if the message is refused before it is dispatched. @defaultValue 400 */
  readonly status: number
  constructor(code: number, message: string, more: { status?: number; data?: JsonObject } = {}) {
    super(message)
    this.code = code
    this.status = more.status ?? 400
    this.data = more.data
  }
}

/** Error code of an HTTP failure: readable, and below the codes reserved by JSON-RPC and MCP. */
export const codeOfStatus = (status: number): number => -31_000 - status
