import { once } from 'node:events'
import type { Pool, PoolClient } from 'pg'
import { elapsedMs, pause } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { advance, enrol, PAGE_MAX, PageFailed, type Subscriber } from './subscriber.ts'

export interface RunOptions {
  readonly pool: Pool
  readonly subscribers: readonly Subscriber[]
  readonly log: Log
  /** Looks without being woken, in ms, should a notification be lost. @defaultValue 5000 */
  readonly pollMs?: number
  /** Entries in a transaction, at most. @defaultValue 1000 */
  readonly pageMax?: bigint
}

const POLL_MS = 5_000
/**
 * Before the next look at entries that come one by one, which are cheaper together: so many times
 * as long as it took to handle the last ones, within bounds.
 */
const REST = 10
const REST_MS = { least: 100, most: 1_000 } as const
const BACK_OFF_MS = [100, 1_000, 5_000, 30_000] as const

/**
 * Keeps subscribers going until it is stopped, woken by the ledger's NOTIFY. Each goes its own way
 * on each shard, so that one that fails keeps no other waiting; it tries again, later each time.
 * @throws Error when the database is out of reach now; later that is logged, and waited for
 */
export async function runSubscribers(options: RunOptions): Promise<{ stop(): Promise<void> }> {
  const { pool, subscribers, log } = options
  const enrolled = await Promise.all(
    subscribers.map(async (each) => ({ subscriber: each, shards: await enrol(pool, each) })),
  )
  const stopping = new AbortController()
  const { signal } = stopping
  const bells = new Bells()
  const followers = enrolled.flatMap(({ subscriber, shards }) =>
    shards.map((shard) => follow(options, subscriber, shard, bells.hang(shard), signal)),
  )
  const running = [listen(pool, bells, log, signal), ...followers]
  return {
    async stop() {
      stopping.abort()
      bells.ring()
      await Promise.all(running)
    },
  }
}

/** Handles what a shard has for a subscriber, and waits for more. */
async function follow(
  { pool, log, pollMs = POLL_MS, pageMax = PAGE_MAX }: RunOptions,
  subscriber: Subscriber,
  shard: number,
  bell: Bell,
  signal: AbortSignal,
): Promise<void> {
  let size = pageMax
  let failures = 0
  while (!signal.aborted) {
    const start = elapsedMs()
    try {
      const handled = await advance(pool, subscriber, shard, { pageMax: size })
      const isFull = handled === size // and there may be more
      failures = 0
      size = size * 2n < pageMax ? size * 2n : pageMax
      const rest = Math.min(REST * (elapsedMs() - start), REST_MS.most)
      if (handled === 0n) await bell.wait(pollMs, signal)
      if (!isFull) await pause(Math.max(rest, REST_MS.least), signal)
    } catch (error) {
      // Whatever stands before the entry that it cannot handle is done, in ever smaller pages.
      const failed = error instanceof PageFailed ? error.page.to - error.page.from + 1n : 1n
      if (failed > 1n) size = failed / 2n
      else {
        const retryMs = BACK_OFF_MS[failures++] ?? BACK_OFF_MS.at(-1)!
        const level = error instanceof PageFailed ? 'error' : 'warn'
        const place = { subscriber: subscriber.name, shard, retryMs }
        log[level]({ err: error, ...place }, 'a reader of the journal failed')
        await pause(retryMs, signal)
      }
    }
  }
}

/** Passes notifications on, over a connection that is made again whenever it is lost. */
async function listen(pool: Pool, bells: Bells, log: Log, signal: AbortSignal): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    let client: PoolClient | undefined
    try {
      client = await pool.connect()
      client.on('notification', ({ payload }) => bells.ring(Number(payload)))
      await client.query('LISTEN ledger')
      failures = 0
      bells.ring() // whatever was booked while nobody listened
      await once(client, 'end', { signal })
    } catch (error) {
      if (signal.aborted) return
      log.warn({ err: error }, 'the ledger cannot be listened to; its readers look by themselves')
    } finally {
      client?.release(true)
    }
    await pause(BACK_OFF_MS[failures++] ?? BACK_OFF_MS.at(-1)!, signal)
  }
}

/** One for each reader of a shard. */
class Bells {
  readonly #hung: { readonly shard: number; readonly bell: Bell }[] = []

  hang(shard: number): Bell {
    const bell = new Bell()
    this.#hung.push({ shard, bell })
    return bell
  }

  /** Those of one shard, or all. */
  ring(shard?: number): void {
    for (const each of this.#hung) {
      if (shard === undefined || each.shard === shard) each.bell.ring()
    }
  }
}

/** Rings once for any number of pulls while nobody waits. */
class Bell {
  #rung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      await pause(ms, woken.signal)
      this.#wake = undefined
    }
    this.#rung = false
  }
}
