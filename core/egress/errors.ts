import type { EgressResponse } from './http.ts'

/** Errors of requests to foreign hosts; the keys are codes of core/errors.ts. */
const TEXT = {
  validation_failed: 'The request cannot be sent in this form.',
  destination_not_allowed: 'The hub connects only to hosts whose addresses are all public.',
  upstream_unreachable: 'The destination could not be reached.',
  upstream_timeout: 'The destination did not respond in time.',
  upstream_tls: 'The destination has no valid certificate for its name.',
  upstream_too_large: 'The response of the destination exceeds the maximum size.',
  upstream_redirect: 'The destination redirects; the hub follows no redirects.',
  upstream_error: 'The destination sent an invalid response.',
} as const

export type EgressCode = keyof typeof TEXT

interface EgressDetails {
  /** Replaces the standard text; for `validation_failed`, names the part to change. */
  readonly message?: string
  readonly sent?: boolean
  readonly response?: EgressResponse | undefined
  readonly cause?: unknown
}

/**
 * Failed request to a foreign host. The message is safe to show and does not vary within a code, so
 * that it cannot be used to scan a network; `cause` has addresses and ports, for the log only.
 */
export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly code: EgressCode
  /** False only if no byte of the request can have left this machine. */
  readonly sent: boolean
  /** Response received so far; the body is empty unless it was complete. */
  readonly response: EgressResponse | undefined

  constructor(code: EgressCode, { message, sent = false, response, cause }: EgressDetails = {}) {
    super(message ?? TEXT[code], { cause })
    this.code = code
    this.sent = sent
    this.response = response
  }
}

/** Creates a `validation_failed` error; the message names the part to change. */
export const invalidRequest = (message: string, cause?: unknown): EgressError =>
  new EgressError('validation_failed', { message, cause })

/** Returns the `code` of a system or undici error, or an empty string. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
