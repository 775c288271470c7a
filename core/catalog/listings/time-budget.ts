import { elapsedMs } from '../../clock.ts'

/** How long a job may work at a time. */
export interface Turn {
  /** In ms. */
  readonly forMs?: number
  /** Aborts when the process stops. */
  readonly stopping?: AbortSignal
}

/** Begins a turn; what it gives tells whether it is over. */
export function beginTurn({ forMs, stopping }: Turn, defaultMs: number): () => boolean {
  const until = elapsedMs() + (forMs ?? defaultMs)
  return () => elapsedMs() >= until || stopping?.aborted === true
}
