import { causeOf } from '../store/set-aside.ts'

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

/** Describes a failure for the operator; an unexpected error has a stack. */
export function failureOf(error: unknown): { readonly problem: string; readonly stack?: string } {
  if (error instanceof IngestFailure) return { problem: `${error.reason}: ${error.message}` }
  const { reason, detail, stack } = causeOf(error)
  return { problem: `${reason}: ${detail}`, ...(stack !== undefined && { stack }) }
}

/** Formats a failure on one line. */
export const problemOf = (error: unknown): string => failureOf(error).problem.slice(0, 500)
