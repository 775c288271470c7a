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

/** The journal did not give what it should. The message is for the operator. */
export class IngestFailure extends Error {
  override readonly name = 'IngestFailure'
  readonly reason: Reason
  /** Of `blocked`: when it may be asked again. */
  readonly quietUntil: Date | undefined

  constructor(reason: Reason, message: string, quietUntil?: Date) {
    super(message)
    this.reason = reason
    this.quietUntil = quietUntil
  }
}

/** What the operator is shown of a failure; what is not the journal's doing is not hidden. */
export function problemOf(error: unknown): string {
  if (error instanceof IngestFailure) return `${error.reason}: ${error.message}`.slice(0, 500)
  throw error
}
