import { RateLimiterMemory } from 'rate-limiter-flexible'

/** Count of the current window, including this event. */
export interface WindowCount {
  readonly count: number
  /** Milliseconds until the window ends; above zero. */
  readonly msLeft: number
}

/** Counter of events in fixed windows; a window begins with its first event. */
export interface Windows {
  count(key: string, seconds: number): Promise<WindowCount>
  close(): Promise<void>
}

/** Counts in this process only. */
export class MemoryWindows implements Windows {
  readonly #limiter = new RateLimiterMemory({ points: 0, duration: 60, keyPrefix: '' })

  async count(key: string, seconds: number): Promise<WindowCount> {
    const hits = await this.#limiter.penalty(key, 1, { customDuration: seconds })
    return { count: hits.consumedPoints, msLeft: hits.msBeforeNext }
  }

  async close(): Promise<void> {}
}
