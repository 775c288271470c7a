import type { Pool } from 'pg'
import { elapsedMs } from '../clock.ts'
import type { Log } from '../log.ts'
import { logFailure, outagesOf } from '../outages.ts'
import { MemoryWindows, type WindowCount, type Windows } from './windows.ts'
import { DatabaseWindows } from './windows-database.ts'

/** Store that counts rate limits. */
export type RateStore = 'memory' | 'database' | { readonly redisUrl: string }

/** Opens the store. A shared one falls back to memory while it fails. */
export async function openWindows(store: RateStore, pool: Pool, log: Log): Promise<Windows> {
  if (store === 'memory') return new MemoryWindows()
  if (store === 'database') return new FallbackWindows(new DatabaseWindows(pool), log)
  const { RedisWindows } = await import('./windows-redis.ts') // lazy: slow to load
  return new FallbackWindows(await RedisWindows.open(store.redisUrl), log)
}

/** Time without attempts after a failure, so that not every request waits for the store. */
const RETRY_AFTER_MS = 1_000

/** Name in the log. */
const COMPONENT = 'rate limit store'

/** Counts in a shared store, or in this process while the store fails. */
export class FallbackWindows implements Windows {
  readonly #shared: Windows
  readonly #log: Log
  readonly #local = new MemoryWindows()
  #retryAtMs = 0

  constructor(shared: Windows, log: Log) {
    this.#shared = shared
    this.#log = log
    outagesOf(log).succeed(COMPONENT) // it has connected
  }

  async count(key: string, seconds: number): Promise<WindowCount> {
    const own = this.#local.count(key, seconds)
    if (elapsedMs() < this.#retryAtMs) return own
    try {
      const count = await this.#shared.count(key, seconds)
      outagesOf(this.#log).succeed(COMPONENT)
      return count
    } catch (err) {
      const fields = { err, component: COMPONENT }
      logFailure(this.#log, 'warn', fields, 'the rate limit store failed: counting per process')
      this.#retryAtMs = elapsedMs() + RETRY_AFTER_MS
      return own
    }
  }

  async close(): Promise<void> {
    await this.#shared.close()
  }
}
