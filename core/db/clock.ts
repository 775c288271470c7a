import type { Pool } from 'pg'
import { type Clock, systemClock } from '../clock.ts'

const MEASURE_EVERY_MS = 30_000

/** The time of the database. */
export interface DatabaseClock extends Clock {
  /** Measures no more. */
  close(): void
}

/**
 * The time of the database, which all processes share: they agree on months, days and deadlines
 * though their own clocks do not. How far ours is off is measured now and then; what is within the
 * error of measurement is none.
 * @param own the clock of this machine
 */
export async function openDatabaseClock(
  pool: Pool,
  own: Clock = systemClock,
): Promise<DatabaseClock> {
  let ahead = await measure(pool, own)
  const renew = (): void =>
    void measure(pool, own).then(
      (measured) => (ahead = measured),
      () => undefined, // a database that is away is noticed elsewhere
    )
  const timer = setInterval(renew, MEASURE_EVERY_MS).unref()
  return {
    now: () => new Date(own.now().getTime() + ahead),
    close: () => clearInterval(timer),
  }
}

/** By how many milliseconds the database is ahead of us. */
async function measure(pool: Pool, own: Clock): Promise<number> {
  const asked = own.now().getTime()
  const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  const answered = own.now().getTime()
  const now = rows[0]!.now.getTime()
  if (now < asked) return now - asked
  return now > answered ? now - answered : 0
}
