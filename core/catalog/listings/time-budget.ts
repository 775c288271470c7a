import { elapsedMs } from '../../clock.ts'

/** Limit of one run of a job. */
export interface TimeBudget {
  /** Duration in ms. */
  readonly forMs?: number
  /** Aborts when the process stops. */
  readonly stopping?: AbortSignal
}

/** Starts a time budget. @returns a function that returns true once the budget is used up */
export function startTimeBudget({ forMs, stopping }: TimeBudget, defaultMs: number): () => boolean {
  const until = elapsedMs() + (forMs ?? defaultMs)
  return () => elapsedMs() >= until || stopping?.aborted === true
}
