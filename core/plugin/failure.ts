/** What a program makes of it: 502 this will not do, 503 later perhaps, 504 it took too long. */
type FailureStatus = 502 | 503 | 504

interface FailureDetails extends Readonly<Record<string, unknown>> {
  /** When to try again, at the earliest: told as `Retry-After`. */
  readonly retryAfterSeconds?: number
}

/**
 * A failure of the service's own, told to the caller by its reason and refunded in full: for what
 * the caller can go by. What a handler throws besides is a 502 without details.
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
