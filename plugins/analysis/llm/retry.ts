import { setTimeout as delay } from 'node:timers/promises'
import { ModelError, type Reply } from './model.ts'
import { Trouble } from './trouble.ts'

const RETRIES = 2
const FIRST_WAIT_MS = 250
/** A server that wants to be left alone for longer is; the next engine is asked instead. */
const LONGEST_WAIT_MS = 8_000

/**
 * How long to wait before a request is repeated, in milliseconds; undefined when it is not to be:
 * only what may pass by itself is, twice at most, and never sooner than the server asked for.
 * @param jitter 0 to 1: spreads those who failed together
 */
export const waitBefore = (error: unknown, attempt: number, jitter: number): number | undefined => {
  if (!(error instanceof ModelError) || error.kind !== 'transient') return undefined
  if (attempt > RETRIES) return undefined
  const own = FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + jitter / 2)
  const wait = Math.max(own, error.retryAfterMs ?? 0)
  return wait <= LONGEST_WAIT_MS ? wait : undefined
}

/**
 * Repeats a request as `waitBefore` allows.
 * @throws Trouble when it never came to an answer, ModelError of kind `format`, or the signal's
 * reason
 */
export const withRetries = async (
  send: () => Promise<Reply>,
  signal: AbortSignal,
): Promise<Reply> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (error) {
      const wait = waitBefore(error, attempt, Math.random())
      if (wait === undefined) throw troubleOf(error)
      await delay(wait, undefined, { signal })
    }
  }
}

const troubleOf = (error: unknown): unknown => {
  if (!(error instanceof ModelError) || error.kind === 'format') return error
  const reason = error.kind === 'timeout' ? 'timeout' : 'unavailable'
  return new Trouble(reason, error.message, error.retryAfterMs, error)
}
