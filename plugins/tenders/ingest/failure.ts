export type Reason =
  | 'unreachable'
  | 'blocked'
  | 'refused_query'
  | 'bad_page'
  | 'contradiction'
  | 'bad_package'
  | 'no_package'
  | 'not_found'
  | 'not_rendered'
  | 'html_page'
  | 'displaced'

/** The journal failed to deliver. The message is for the operator. */
export class IngestFailure extends Error {
  override readonly name = 'IngestFailure'
  readonly reason: Reason
  /** For `blocked`: when requests may resume. */
  readonly quietUntil: Date | undefined

  constructor(reason: Reason, message: string, quietUntil?: Date) {
    super(message)
    this.reason = reason
    this.quietUntil = quietUntil
  }
}

/** Formats a failure for the operator; unexpected errors are shown in full. */
export function problemOf(error: unknown): string {
  if (error instanceof IngestFailure) return `${error.reason}: ${error.message}`.slice(0, 500)
  throw error
}
