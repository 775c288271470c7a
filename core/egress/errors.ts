import type { EgressResponse } from './http.ts'

/** Every way a request to a foreign host can fail; the keys are codes of the fault catalogue. */
const TEXT = {
  validation_failed: 'The request cannot be sent as it is.',
  destination_not_allowed:
    'The hub does not connect there: only to names that resolve to public addresses alone.',
  upstream_unreachable: 'The destination could not be reached.',
  upstream_timeout: 'The destination did not answer in time.',
  upstream_tls: 'The destination has no valid certificate for its name.',
  upstream_too_large: 'The destination answered with more than the hub takes.',
  upstream_redirect: 'The destination redirects; the hub never follows.',
  upstream_error: 'The destination did not answer properly.',
} as const

export type EgressCode = keyof typeof TEXT

interface EgressDetails {
  /** Said instead of the standard text; for `validation_failed`, where the caller wrote it. */
  readonly message?: string
  readonly sent?: boolean
  readonly response?: EgressResponse | undefined
  readonly cause?: unknown
}

/**
 * A request that did not come to a proper end. The message is safe to show and the same for every
 * instance of a code, so that nobody scans a network by it; addresses and ports are in `cause`,
 * which is for the log alone.
 */
export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly code: EgressCode
  /** False only when it is certain that no byte of the request left this machine. */
  readonly sent: boolean
  /** What had been answered by then; the body is empty when it could not be read to its end. */
  readonly response: EgressResponse | undefined

  constructor(code: EgressCode, { message, sent = false, response, cause }: EgressDetails = {}) {
    super(message ?? TEXT[code], { cause })
    this.code = code
    this.sent = sent
    this.response = response
  }
}

/** A part of the request that the caller has to change, named in the message. */
export const invalid = (message: string, cause?: unknown): EgressError =>
  new EgressError('validation_failed', { message, cause })
