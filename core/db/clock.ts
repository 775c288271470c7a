import type { Pool } from 'pg'
import { type Clock, systemClock } from '../clock.ts'

const MEASURE_EVERY_MS = 30_000

/** Clock that follows the database. */
export interface DatabaseClock extends Clock {
  /** Stops measuring. */
  close(): void
}

/**
 * Opens a clock that follows the database, so that all processes agree on months, days and
 * deadlines although their local clocks differ. Measures the offset periodically; an offset within
 * the measurement error counts as zero.
 * @param localClock the clock of this machine
 */
export async function openDatabaseClock(
  pool: Pool,
  localClock: Clock = systemClock,
): Promise<DatabaseClock> {
  let offsetMs = await measureOffset(pool, localClock)
  const remeasure = (): void =>
    void measureOffset(pool, localClock).then(
      (measured) => (offsetMs = measured),
      () => undefined, // other code reports an unreachable database
    )
  const timer = setInterval(remeasure, MEASURE_EVERY_MS).unref()
  return {
    now: () => new Date(localClock.now().getTime() + offsetMs),
    close: () => clearInterval(timer),
  }
}

/** Milliseconds by which the database is ahead of the local clock. */
async function measureOffset(pool: Pool, localClock: Clock): Promise<number> {
  const before = localClock.now().getTime()
  const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  const after = localClock.now().getTime()
  const now = rows[0]!.now.getTime()
  if (now < before) return now - before
  return now > after ? now - after : 0
}
