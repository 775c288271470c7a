/**
 * Error of the table. `retryAfterSeconds` is set if a repeated request may succeed: the time after
 * which it is worthwhile, sent as `Retry-After` unless the fault knows better.
 */
export type FaultRow = readonly [
  status: number,
  title: string,
  advice: string,
  retryAfterSeconds?: number,
]
