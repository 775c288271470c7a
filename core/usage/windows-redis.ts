import { once } from 'node:events'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { withTimeout } from '../clock.ts'
import type { WindowCount, Windows } from './windows.ts'

/** Command timeout, after which the fallback counts; longer than any healthy response time. */
const TIMEOUT_MS = 1_000
const RECONNECT_MAX_MS = 1_000
const CONNECT_MS = 2_000

/** Counts in Redis or Valkey, by its clock: exact for all processes and machines that share it. */
export class RedisWindows implements Windows {
  readonly #client: Redis
  readonly #limiter: RateLimiterRedis

  private constructor(url: string) {
    this.#client = new Redis(url, {
      enableOfflineQueue: false, // fail at once while disconnected
      commandTimeout: TIMEOUT_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: (tries) => Math.min(50 * tries, RECONNECT_MAX_MS),
    })
    this.#client.on('error', () => {}) // reported by `count`
    this.#limiter = new RateLimiterRedis({
      storeClient: this.#client,
      points: 0,
      duration: 60,
      keyPrefix: 'hub:rate',
      rejectIfRedisNotReady: true,
    })
  }

  /** Waits up to `CONNECT_MS` for the first connection; reconnects when it is lost. */
  static async open(url: string): Promise<RedisWindows> {
    const windows = new RedisWindows(url)
    await withTimeout(CONNECT_MS, once(windows.#client, 'ready'))
    return windows
  }

  async count(key: string, seconds: number): Promise<WindowCount> {
    const hits = await this.#limiter.penalty(key, 1, { customDuration: seconds })
    return { count: hits.consumedPoints, msLeft: hits.msBeforeNext }
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}
