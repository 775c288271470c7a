import type { Pool } from 'pg'
import { elapsedMs, unrefSleep } from '../clock.ts'
import type { WindowCount, Windows } from './windows.ts'

interface PendingHit {
  readonly key: string
  readonly seconds: number
  readonly resolve: (hits: WindowCount) => void
  readonly reject: (error: Error) => void
}

/** Maximum time that a request waits to be counted; then the fallback counts it. */
const TIMEOUT_MS = 1_000
const QUEUE_MAX = 20_000
/** Upserts in the order of keys, so that concurrent batches cannot deadlock. */
const COUNT_HITS = `
  INSERT INTO hub.rate_window AS w (key, hits, ends_at)
  SELECT key, hits, now() + make_interval(secs => seconds)
  FROM unnest($1::text[], $2::integer[], $3::integer[]) AS t (key, hits, seconds)
  ON CONFLICT (key) DO UPDATE SET
    hits = excluded.hits + CASE WHEN w.ends_at > now() THEN w.hits ELSE 0 END,
    ends_at = CASE WHEN w.ends_at > now() THEN w.ends_at ELSE excluded.ends_at END
  RETURNING key, hits, extract(epoch FROM ends_at - now())::float8 * 1000 AS left`

/** Deletes finished windows, except those being counted. */
export const pruneWindows = (pool: Pool): Promise<unknown> =>
  pool.query(
    `DELETE FROM hub.rate_window WHERE key IN (SELECT key FROM hub.rate_window
       WHERE ends_at <= now() ORDER BY key FOR UPDATE SKIP LOCKED)`,
  )

/**
 * Counts in PostgreSQL, by its clock: exact for all processes that share it. One statement counts
 * all requests that arrived during the previous one, in an unlogged table, so that none waits for
 * a disk.
 */
export class DatabaseWindows implements Windows {
  readonly #pool: Pool
  #queue: PendingHit[] = []
  #busySince: number | undefined

  /** @param pool connections of the role `hub_app` */
  constructor(pool: Pool) {
    this.#pool = pool
  }

  count(key: string, seconds: number): Promise<WindowCount> {
    return new Promise((resolve, reject) => {
      const stuck = this.#busySince !== undefined && elapsedMs() - this.#busySince > TIMEOUT_MS
      if (stuck || this.#queue.length >= QUEUE_MAX)
        reject(new Error('the database is too slow to count'))
      else {
        this.#queue.push({ key, seconds, resolve, reject })
        void this.#drain()
      }
    })
  }

  async close(): Promise<void> {}

  async #drain(): Promise<void> {
    if (this.#busySince !== undefined) return
    while (this.#queue.length > 0) {
      this.#busySince = elapsedMs()
      const batch = this.#queue.splice(0)
      const counting = this.#count(batch)
      await Promise.race([counting, rejectAfterTimeout()]).catch((error: Error) => {
        for (const { reject } of batch) reject(error)
      })
      await counting.catch(() => {}) // one statement at a time, also after a timeout
    }
    this.#busySince = undefined
  }

  async #count(batch: readonly PendingHit[]): Promise<void> {
    const groups = Map.groupBy(batch, ({ key }) => key)
    const keys = [...groups.keys()].sort()
    const sizes = keys.map((key) => groups.get(key)!.length)
    const seconds = keys.map((key) => groups.get(key)![0]!.seconds)
    const { rows } = await this.#pool.query<{ key: string; hits: number; left: number }>(
      COUNT_HITS,
      [keys, sizes, seconds],
    )
    for (const { key, hits, left } of rows) {
      const group = groups.get(key)!
      const before = hits - group.length
      group.forEach(({ resolve }, i) => resolve({ count: before + i + 1, msLeft: left }))
    }
  }
}

async function rejectAfterTimeout(): Promise<never> {
  await unrefSleep(TIMEOUT_MS)
  throw new Error('the database did not count in time')
}
