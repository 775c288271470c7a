import { elapsedMs, sleep } from '../clock.ts'

/** The ledger could not be reached in time. Whether the operation took effect is not known. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable'
}

const RETRY_EVERY_MS = 50
/** Of real time: tries may take seconds each before they fail. */
export const RETRY_FOR_MS = 15_000

/** The SQLSTATE of a value date in a closed month (see `ledger.post`). */
const PERIOD_CLOSED = 'AH001'

const stateOf = (error: unknown): string => {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/**
 * Errors by which the database says that it did not and will not do it, and mistakes of our own: no
 * repetition helps. All others are those of lost connections.
 */
export const isRefusal = (error: unknown): boolean =>
  /^(?:0A|22|23|42|AH|P0)/.test(stateOf(error)) ||
  error instanceof TypeError ||
  error instanceof RangeError

/** We have closed our connections: a process that ends need not wait for what it cut off. */
const isEnded = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Cannot use a pool after calling end on the pool'

/** The key of the journal has it already. */
export const isRepeatedId = (error: unknown): boolean => stateOf(error) === '23505'

export const isPeriodClosed = (error: unknown): boolean => stateOf(error) === PERIOD_CLOSED

/**
 * Asks the database again until it answers, for what is idempotent: after a lost connection nobody
 * knows whether the question was heard, and the repetition tells.
 * @throws LedgerUnavailable when it stays out of reach; a refusal is an answer, and thrown as it is
 */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  forMs: number = RETRY_FOR_MS,
): Promise<T> {
  const start = elapsedMs()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (isRefusal(error)) throw error
      if (elapsedMs() - start >= forMs || isEnded(error)) {
        throw new LedgerUnavailable('the database does not answer', { cause: error })
      }
      await sleep(RETRY_EVERY_MS)
    }
  }
}
