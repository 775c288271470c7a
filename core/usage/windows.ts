import { RateLimiterMemory } from 'rate-limiter-flexible'
import { elapsedMs } from '../clock.ts'
import type { Log } from '../log.ts'

/** How often something happened in the window that is open, this time included. */
export interface WindowCount {
  readonly count: number
  /** Until the window ends and the next may begin, in milliseconds; above zero. */
  readonly msLeft: number
}

/** Counts in fixed windows: each begins with a first hit, and lasts so many seconds. */
export interface Windows {
  hit(key: string, seconds: number): Promise<WindowCount>
  close(): Promise<void>
}

/** Counts in this process alone. */
export class MemoryWindows implements Windows {
  readonly #limiter = new RateLimiterMemory({ points: 0, duration: 60, keyPrefix: '' })

  async hit(key: string, seconds: number): Promise<WindowCount> {
    const hits = await this.#limiter.penalty(key, 1, { customDuration: seconds })
    return { count: hits.consumedPoints, msLeft: hits.msBeforeNext }
  }

  async close(): Promise<void> {}
}

/** How long a store that failed is left alone, so that not every request waits for it. */
const RETRY_AFTER_MS = 1_000

/**
 * Counts in a store that processes share; while it does not answer, in this process, which has
 * counted its own share all along: then each process still holds the limit.
 */
export class FallbackWindows implements Windows {
  readonly #shared: Windows
  readonly #log: Log
  readonly #local = new MemoryWindows()
  #retryAtMs = 0

  constructor(shared: Windows, log: Log) {
    this.#shared = shared
    this.#log = log
  }

  async hit(key: string, seconds: number): Promise<WindowCount> {
    const own = await this.#local.hit(key, seconds)
    if (elapsedMs() < this.#retryAtMs) return own
    try {
      return await this.#shared.hit(key, seconds)
    } catch (error) {
      if (elapsedMs() >= this.#retryAtMs) {
        this.#log.warn({ err: error }, 'rate limits are counted by each process for itself')
      }
      this.#retryAtMs = elapsedMs() + RETRY_AFTER_MS
      return own
    }
  }

  async close(): Promise<void> {
    await this.#shared.close()
  }
}
