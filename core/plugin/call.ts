import type { Micros } from '../money.ts'

/** Warning to consider before paying. */
export interface QuoteCaution {
  readonly code: string
  readonly message: string
}

/** Result of a computed price; `terms` passes further details to the handler. */
export interface Quote<Terms = unknown> {
  readonly amount: Micros
  readonly terms?: Terms
  /** Warnings about the seller, shown by a dry run. */
  readonly cautions?: readonly QuoteCaution[]
}

/** One funded call, as passed to a handler. */
export interface Call<Input> {
  /** Unique id of the call, the same in the ledger, the receipt and the logs. */
  readonly id: string
  /**
   * Request body (or query, for GET and DELETE), validated by the input schema. A path parameter
   * `{name}` is its member `name`.
   */
  readonly input: Input
  /**
   * Stable id of the payer: a key id, or `x402:` and a verified wallet address; `nobody` for a call
   * without a key to an endpoint that is free for everyone.
   */
  readonly payer: string
  /** Request headers passed to providers, by lower-case name: no keys, cookies or addresses. */
  readonly headers?: Readonly<Record<string, string>>
  /** Host of the agent that signed the request (Web Bot Auth), if it was verified. */
  readonly agent?: string
  /** `terms` of the computed price; undefined for a fixed price. */
  readonly terms: unknown
  /**
   * Reserved price: the computed one, that of a quote, or the maximum of a metered one. Undefined
   * in an isolated plugin.
   */
  readonly price?: Micros
  /** Aborts at the deadline. */
  readonly signal: AbortSignal
  /**
   * Parks the hold, whatever becomes of the handler: it is neither settled nor released until the
   * plugin resolves it. Unparked, the hub settles or releases it as usual. For privileged plugins,
   * before they send a signature.
   */
  readonly park?: (parked: boolean) => void
  /**
   * Lowers the charge below the quote. A call paid by x402 per request costs the full quote or, if
   * lowered to zero, nothing. Raising the charge fails the call: it breaks the plugin's contract.
   */
  readonly charge: (amount: Micros) => void
  /**
   * Reports usage of an endpoint with a metered price, as often as there is some: before it is
   * sent, for a stream. Returns false once the reserved maximum does not cover what was reported:
   * the maximum is then charged, and a stream ends with what it had sent before. Another unit, or
   * a quantity that is no natural number, fails the call.
   */
  readonly meter: (unit: string, quantity: number | bigint) => boolean
}

interface ReplyOptions {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly isCharged?: boolean
}

/**
 * Response with its own status, headers, bytes or stream. A status other than 2xx is refunded,
 * except a charged 4xx; 304 is delivered without charge. A stream is sent as it arrives and charged
 * at its end, if complete: before the deadline, at most 256 MiB. Its endpoint must declare
 * `streams`.
 */
export class Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** True to charge also for a client error (4xx) that is the result, such as "no such record". */
  readonly isCharged: boolean
  constructor(body: unknown, { status = 200, headers = {}, isCharged = false }: ReplyOptions = {}) {
    this.status = status
    this.headers = headers
    this.body = body
    this.isCharged = isCharged
  }
}

/** Failure reported to the caller like a fault, with a special treatment of the caller's money. */
class Ending {
  readonly code: string
  readonly detail: string
  readonly extras: Readonly<Record<string, unknown>>
  /** @param code fault code reported to the caller (core/errors.ts) */
  constructor(code: string, detail: string, extras: Readonly<Record<string, unknown>> = {}) {
    this.code = code
    this.detail = detail
    this.extras = extras
  }
}

/**
 * Outcome that is not known yet, such as a payment to a third party whose response was lost. The
 * hold stays until the plugin learns the outcome and resolves it. For privileged plugins.
 */
export class Unresolved extends Ending {
  readonly kind = 'unresolved'
}

/**
 * Failure that is charged in full, because a third party has verifiably taken the money. For
 * privileged plugins.
 */
export class Taken extends Ending {
  readonly kind = 'taken'
}

/**
 * Input that the handler cannot serve: reported as a 4xx and refunded in full. Thrown while a price
 * is computed, nothing is paid at all. For failures of the service itself, throw a `Failure`; any
 * other error becomes a 502 without details, which is refunded too.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: 404 | 422
  readonly code: string
  readonly extras: Readonly<Record<string, unknown>>
  /**
   * @param code stable snake_case name of the reason, such as `empty_text`
   * @param detail a sentence that tells the caller what to change
   * @param extras further members of the problem body, such as the allowed values
   */
  constructor(
    code: string,
    detail: string,
    { status = 422, ...extras }: { status?: 404 | 422 } & Record<string, unknown> = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.extras = extras
  }
}

/** 502: retrying does not help; 503: retry later; 504: the service took too long. */
type FailureStatus = 502 | 503 | 504

interface FailureDetails extends Readonly<Record<string, unknown>> {
  /** Earliest time of a retry, sent as `Retry-After`. */
  readonly retryAfterSeconds?: number
}

/**
 * Failure of the service itself, reported to the caller with its reason and refunded in full. Any
 * other error thrown by a handler becomes a 502 without details.
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly status: FailureStatus
  readonly code: string
  readonly retryAfterSeconds: number | undefined
  readonly extras: Readonly<Record<string, unknown>>
  /**
   * @param code stable snake_case name of the reason, such as `engine_unavailable`
   * @param detail a sentence for the caller
   * @param details `retryAfterSeconds`, and further members of the problem body
   */
  constructor(
    status: FailureStatus,
    code: string,
    detail: string,
    { retryAfterSeconds, ...extras }: FailureDetails = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
    this.extras = extras
  }
}
