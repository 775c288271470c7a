import { elapsedMs, sleep, withDeadline } from '../clock.ts'
import { Unavailable } from '../outages.ts'

/** The ledger could not be reached in time. It is unknown if the operation took effect. */
export class LedgerUnavailable extends Unavailable {
  override readonly name = 'LedgerUnavailable'
  readonly component = 'database'
}

const RETRY_EVERY_MS = 50
/** Default time to retry. Not a number of attempts, because one may take seconds to fail. */
export const RETRY_FOR_MS = 15_000
/** Time to retry before the work of a call: its caller should learn early that it cannot begin. */
export const BEGIN_FOR_MS = 2_000

/** Maximum time that a request waits for a database that does not respond. */
const REQUEST_WAIT_MS = 2_500

/**
 * Limits the time that a request waits for work in the database; the work itself continues.
 * @throws LedgerUnavailable if it takes longer: it is unknown if the work takes effect
 */
export const limitWait = <T>(work: Promise<T>): Promise<T> =>
  withDeadline(REQUEST_WAIT_MS, work, () => new LedgerUnavailable('the database did not respond'))

/** SQLSTATE raised by `ledger.post` for a value date in a closed month. */
const PERIOD_CLOSED = 'AH001'

const sqlState = (error: unknown): string => {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Returns true for errors that a retry cannot fix: of the program or its statements. */
export const isPermanent = (error: unknown): boolean =>
  /^(?:0A|22|23|42|AH|P0)/.test(sqlState(error)) ||
  error instanceof TypeError ||
  error instanceof RangeError

/** Returns true if this process closed its pool: it is exiting and need not retry. */
const isPoolEnded = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Cannot use a pool after calling end on the pool'

export const isDuplicateKey = (error: unknown): boolean => sqlState(error) === '23505'

export const isPeriodClosed = (error: unknown): boolean => sqlState(error) === PERIOD_CLOSED

/**
 * Retries an idempotent query while the database is unreachable. After a lost connection it is
 * unknown if the query ran; the retry finds out.
 * @throws LedgerUnavailable if the database stays unreachable; rethrows permanent errors
 */
export async function withRetry<T>(
  query: () => Promise<T>,
  forMs: number = RETRY_FOR_MS,
): Promise<T> {
  const start = elapsedMs()
  for (;;) {
    try {
      return await query()
    } catch (error) {
      if (isPermanent(error)) throw error
      if (elapsedMs() - start >= forMs || isPoolEnded(error)) {
        throw new LedgerUnavailable('the database is unreachable', { cause: error })
      }
      await sleep(RETRY_EVERY_MS)
    }
  }
}
