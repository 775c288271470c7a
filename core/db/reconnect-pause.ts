/** Short, so that a failover delays nobody long after its end. */
const PAUSE_MS = { min: 1_000, max: 2_000 } as const

/**
 * Pause in milliseconds after a failed attempt to reach the database. Random, so that not all
 * processes connect to a new primary at once.
 */
export const reconnectPauseMs = (): number =>
  PAUSE_MS.min + Math.random() * (PAUSE_MS.max - PAUSE_MS.min)
