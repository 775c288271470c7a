import { elapsedMs, sleep } from '../clock.ts'
import { LedgerUnavailable } from './batch.ts'

const RETRY_EVERY_MS = 50
const RETRY_FOR_MS = 15_000

/** The SQLSTATE of a value date in a closed month (see `ledger.post`). */
const PERIOD_CLOSED = 'AH001'

const stateOf = (error: unknown): string => {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Errors by which the database says that it did not and will not do it, as against lost ones. */
const isRefusal = (error: unknown): boolean => /^(?:0A|22|23|42|AH|P0)/.test(stateOf(error))

export const isPeriodClosed = (error: unknown): boolean => stateOf(error) === PERIOD_CLOSED

/**
 * Asks the database again until it answers, for what is idempotent: after a lost connection nobody
 * knows whether the question was heard, and the repetition tells.
 * @throws LedgerUnavailable when it stays out of reach; a refusal is an answer, and thrown as it is
 */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  const start = elapsedMs()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (isRefusal(error)) throw error
      if (elapsedMs() - start >= RETRY_FOR_MS) {
        throw new LedgerUnavailable('the database does not answer', { cause: error })
      }
      await sleep(RETRY_EVERY_MS)
    }
  }
}
