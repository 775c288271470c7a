import { ttlCache } from '../runtime/cache.ts'

/** Count of the current window, including this event. */
export interface WindowCount {
  readonly count: number
  /** Milliseconds until the window ends; above zero. */
  readonly msLeft: number
}

/** Counter of events in fixed windows; a window begins with its first event. */
export interface Windows {
  /** Returns a promise only if the count is kept outside the process. */
  count(key: string, seconds: number): WindowCount | Promise<WindowCount>
  close(): Promise<void>
}

/** Windows of one process; beyond it, the least recently used is dropped. */
const WINDOWS_MAX = 100_000
const SECOND_MS = 1_000

/** Counts in this process only, in bounded memory. */
export class MemoryWindows implements Windows {
  readonly #windows

  constructor(max = WINDOWS_MAX) {
    this.#windows = ttlCache<string, { count: number }>({ ttlMs: SECOND_MS, max })
  }

  count(key: string, seconds: number): WindowCount {
    const window = this.#windows.get(key)
    if (window) {
      const msLeft = Math.max(1, this.#windows.getRemainingTTL(key))
      return { count: ++window.count, msLeft }
    }
    const ttl = seconds * SECOND_MS
    this.#windows.set(key, { count: 1 }, { ttl })
    return { count: 1, msLeft: ttl }
  }

  async close(): Promise<void> {}
}
