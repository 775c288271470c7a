import { setTimeout as delay } from 'node:timers/promises'
import { EngineError } from './engine-error.ts'
import { ModelError, type Reply } from './model.ts'

const RETRIES = 2
const FIRST_WAIT_MS = 250
/** Longest wait; if a server asks for more, the next engine is used. */
const LONGEST_WAIT_MS = 8_000

/** Milliseconds, not before the server's requested delay; undefined if there must be no retry. */
export const retryDelay = (error: unknown, attempt: number, jitter: number): number | undefined => {
  if (!(error instanceof ModelError) || error.kind !== 'transient') return undefined
  if (attempt > RETRIES) return undefined
  const backoff = FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + jitter / 2)
  const wait = Math.max(backoff, error.retryAfterMs ?? 0)
  return wait <= LONGEST_WAIT_MS ? wait : undefined
}

/** @throws EngineError if all attempts failed, ModelError `format`, or the signal's reason */
export const withRetries = async (
  send: () => Promise<Reply>,
  signal: AbortSignal,
): Promise<Reply> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (error) {
      const wait = retryDelay(error, attempt, Math.random())
      if (wait === undefined) throw asEngineError(error)
      await delay(wait, undefined, { signal })
    }
  }
}

const asEngineError = (error: unknown): unknown => {
  if (!(error instanceof ModelError) || error.kind === 'format') return error
  const reason = error.kind === 'timeout' ? 'timeout' : 'unavailable'
  return new EngineError(reason, error.message, error.retryAfterMs, error)
}
