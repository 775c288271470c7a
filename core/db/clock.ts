import type { Pool } from 'pg'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'

const MEASURE_EVERY_MS = 30_000
/** Difference of the clocks from which on it is logged. */
const LOGGED_DIFFERENCE_MS = 30_000

/** Clock that follows the database. */
export interface DatabaseClock extends Clock {
  /** Stops measuring. */
  close(): void
}

export interface DatabaseClockOptions {
  /** The clock of this machine. @defaultValue the system's */
  readonly localClock?: Clock
  /** Pause between two measurements. @defaultValue 30 seconds */
  readonly everyMs?: number
}

/**
 * Opens a clock that follows the database, so that all processes agree on months, days and
 * deadlines although their local clocks differ. Measures the offset periodically; an offset within
 * the measurement error counts as zero. Logs a warning if the clocks are far apart, and again when
 * that changes.
 */
export async function openDatabaseClock(
  pool: Pool,
  log: Log,
  { localClock = systemClock, everyMs = MEASURE_EVERY_MS }: DatabaseClockOptions = {},
): Promise<DatabaseClock> {
  let offsetMs = 0
  let loggedMs = 0
  const measure = async (): Promise<void> => {
    offsetMs = await measureOffset(pool, localClock)
    if (isFar(offsetMs) === isFar(loggedMs) && !isFar(offsetMs - loggedMs)) return
    loggedMs = offsetMs
    logOffset(log, localClock, offsetMs)
  }
  await measure()
  // Other code reports an unreachable database.
  const timer = setInterval(() => void measure().catch(() => undefined), everyMs).unref()
  return {
    now: () => new Date(localClock.now().getTime() + offsetMs),
    close: () => clearInterval(timer),
  }
}

const isFar = (differenceMs: number): boolean => Math.abs(differenceMs) >= LOGGED_DIFFERENCE_MS

function logOffset(log: Log, localClock: Clock, offsetMs: number): void {
  const now = localClock.now()
  const fields = {
    local: now.toISOString(),
    database: new Date(now.getTime() + offsetMs).toISOString(),
    aheadSeconds: Math.round(-offsetMs / 1_000),
  }
  if (isFar(offsetMs)) {
    const advice = 'set the wrong one (NTP), or payments are refused and their holds wait'
    log.warn(fields, `the clocks of this machine and of the database differ: ${advice}`)
  } else {
    log.info(fields, 'the clocks of this machine and of the database agree again')
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
