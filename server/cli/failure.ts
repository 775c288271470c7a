import { HubError, HubUnreachable, PaymentTermsError } from '../../core/client/index.ts'

export const EXIT_CODES = {
  error: 1,
  usage: 2,
  /** The price is above the limit, or the user declined. */
  declined: 3,
  no_key: 4,
  /** Insufficient funds. */
  unpaid: 5,
  unreachable: 6,
  /** The service or seller failed; the message says whether it was charged. */
  upstream: 7,
  interrupted: 130,
} as const

export type FailureKind = keyof typeof EXIT_CODES

/** An expected failure: one sentence, and a hint what to do about it. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly kind: FailureKind
  readonly hint: string | undefined
  /** Stable code, as in the hub's table of errors. */
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    kind: FailureKind,
    message: string,
    hint?: string,
    more: {
      readonly code?: string
      readonly details?: Readonly<Record<string, unknown>>
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: more.cause })
    this.kind = kind
    this.hint = hint
    this.code = more.code ?? kind
    this.details = more.details ?? {}
  }

  /** Returns the failure with more details, and another hint if one is given. */
  with(details: Failure['details'], hint = this.hint): Failure {
    const { kind, message, code, cause } = this
    return new Failure(kind, message, hint, {
      code,
      details: { ...this.details, ...details },
      cause,
    })
  }
}

const KINDS: Readonly<Record<string, FailureKind>> = {
  price_exceeds_max: 'declined',
  invalid_api_key: 'no_key',
  revoked_api_key: 'no_key',
  frozen_key: 'no_key',
  provider_key: 'no_key',
  validation_failed: 'usage',
  service_unavailable: 'unreachable',
  internal_error: 'error',
}

/** Converts an error to a failure; undefined for a bug, whose stack is useful. */
export function toFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error
  if (error instanceof HubUnreachable) {
    return new Failure('unreachable', error.message, 'Is it running? See `hub doctor`.', {
      code: 'unreachable',
    })
  }
  if (error instanceof PaymentTermsError) return termsFailure(error)
  if (!(error instanceof HubError)) return undefined
  const { status, code, body, charged } = error
  const text = (name: string): string | undefined =>
    typeof body[name] === 'string' ? body[name] : undefined
  const advice = text('advice')
  const detail = text('detail') === advice ? undefined : text('detail')
  const summary =
    detail ?? (text('title') ? `${text('title')}.` : `The hub responded with ${status}.`)
  const reason = text('reason')
  const message =
    reason === undefined || summary.includes(reason) ? summary : `${summary} (${reason})`
  const isShown = advice !== undefined && /^See (?:reason|detail)\b/.test(advice)
  const hint = HINTS[code] ?? (isShown ? undefined : advice)
  const details = { ...body, ...(charged > 0n && { charged_microdollars: Number(charged) }) }
  return new Failure(failureKind(status, code), message, hint, { code, details })
}

/** Failure for an offer that this machine did not sign. */
function termsFailure({ message, code, reason }: PaymentTermsError): Failure {
  const hint = reason === 'timeout' ? 'Check the clock of this machine: `hub doctor`.' : undefined
  return new Failure(KINDS[code] ?? 'error', message, hint, { code, details: { reason } })
}

function failureKind(status: number, code: string): FailureKind {
  const known = KINDS[code]
  if (known) return known
  if (status === 401) return 'no_key'
  if (status === 402) return 'unpaid'
  return status >= 500 ? 'upstream' : 'error'
}

const UNPAID = 'Buy credits: `hub topup 5`. Or pay this call from your wallet: --pay x402.'

/** Hints in terms of commands, by error code; the hub's own hints name routes. */
const HINTS: Readonly<Record<string, string>> = {
  invalid_api_key: 'Get a key: `hub register`.',
  revoked_api_key: 'Get a key: `hub register`.',
  insufficient_credits: UNPAID,
  payment_required: UNPAID,
  service_not_found: 'Find services with `hub search`.',
  not_found: 'Check the name or id.',
  price_exceeds_max: 'Call again with a higher --max-price.',
  validation_failed: '`hub show SLUG` shows the expected input; --json lists all errors.',
}
