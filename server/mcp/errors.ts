import type { JsonObject } from '../../core/json.ts'
/** Codes of JSON-RPC 2.0, and those that MCP has added (2026-07-28, basic, error codes). */
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

/** A failure of the protocol, as the caller is told it. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: JsonObject | undefined
  /** Of the HTTP answer, if the message was refused before it was dispatched. */
  readonly status: number
  constructor(code: number, message: string, more: { status?: number; data?: JsonObject } = {}) {
    super(message)
    this.code = code
    this.status = more.status ?? 400
    this.data = more.data
  }
}

/**
 * The code of a failure of HTTP, such as a missing key: below those that JSON-RPC and MCP keep for
 * themselves, and readable.
 */
export const codeOfStatus = (status: number): number => -31_000 - status
