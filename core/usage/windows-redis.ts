import { once } from 'node:events'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { withTimeout } from '../clock.ts'
import type { WindowCount, Windows } from './windows.ts'

/** Longer than any answer on a network that works; then the insurance counts. */
const TIMEOUT_MS = 1_000
const RECONNECT_MS_MAX = 1_000
const CONNECT_MS = 2_000

/** Counts in Redis or Valkey, by its clock: exact for all processes and machines that share it. */
export class RedisWindows implements Windows {
  readonly #client: Redis
  readonly #limiter: RateLimiterRedis

  private constructor(url: string) {
    this.#client = new Redis(url, {
      enableOfflineQueue: false, // what cannot be counted now fails now
      commandTimeout: TIMEOUT_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: (tries) => Math.min(50 * tries, RECONNECT_MS_MAX),
    })
    this.#client.on('error', () => {}) // whoever asks is told
    this.#limiter = new RateLimiterRedis({
      storeClient: this.#client,
      points: 0,
      duration: 60,
      keyPrefix: 'hub:rate',
      rejectIfRedisNotReady: true,
    })
  }

  /** Waits for the first connection a little; it is made again whenever it is lost. */
  static async open(url: string): Promise<RedisWindows> {
    const windows = new RedisWindows(url)
    await withTimeout(CONNECT_MS, once(windows.#client, 'ready'))
    return windows
  }

  async hit(key: string, seconds: number): Promise<WindowCount> {
    const hits = await this.#limiter.penalty(key, 1, { customDuration: seconds })
    return { count: hits.consumedPoints, msLeft: hits.msBeforeNext }
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}
