import { LRUCache } from 'lru-cache'
import { elapsedMs, unrefSleep } from '../clock.ts'

/** Shares one promise among concurrent calls with the same key. Caches nothing once it settles. */
export function singleFlight<Key, Value>(
  load: (key: Key) => Promise<Value>,
): (key: Key) => Promise<Value> {
  const pending = new Map<Key, Promise<Value>>()
  return (key) => {
    const known = pending.get(key)
    if (known) return known
    const value = load(key).finally(() => pending.delete(key))
    pending.set(key, value)
    return value
  }
}

export interface TtlOptions {
  readonly ttlMs: number
  /** Maximum entries; beyond it, the least recently used is dropped. */
  readonly max: number
  /** Monotonic time in milliseconds, above 0. @defaultValue elapsedMs */
  readonly now?: (() => number) | undefined
}

/**
 * LRU cache whose entries expire exactly on time. It is bounded by a sum of sizes, all 1, because
 * memory for `max` entries would be allocated, and filled, at the start.
 */
export const ttlCache = <Key extends {}, Value extends {}>(
  { ttlMs: ttl, max, now }: TtlOptions,
  { ttlAutopurge = false } = {},
): LRUCache<Key, Value> =>
  new LRUCache({
    maxSize: max,
    sizeCalculation: () => 1,
    ttl,
    ttlResolution: 0,
    ttlAutopurge,
    ...(now && { perf: { now } }),
  })

/**
 * Cache that loads its values by key, each valid for `ttlMs` from the start of its load, so that
 * none is older than that; expired values leave memory. Concurrent loads of a key share a promise.
 * Failures are not cached; undefined removes the entry.
 */
export class LoadingCache<Key extends {}, Value> {
  readonly #values: LRUCache<Key, NonNullable<Value>>
  readonly #ttlMs: number
  readonly #now: () => number
  /** Loads and caches a value. Call it when `get` returns undefined. */
  readonly load: (key: Key) => Promise<Value>

  constructor(load: (key: Key) => Promise<Value>, options: TtlOptions) {
    this.#values = ttlCache(options, { ttlAutopurge: true })
    this.#ttlMs = options.ttlMs
    this.#now = options.now ?? elapsedMs
    this.load = singleFlight((key) => this.refresh(key, load))
  }

  /** Synchronous: a hit costs neither a promise nor a turn of the event loop. */
  get(key: Key): NonNullable<Value> | undefined {
    return this.#values.get(key)
  }

  /** Milliseconds for which the value stays valid. */
  remainingMs(key: Key): number {
    return this.#values.getRemainingTTL(key)
  }

  /** Caches what `load` returns now, unless the cached value's load started later. */
  async refresh(key: Key, load: (key: Key) => Promise<Value>): Promise<Value> {
    const start = this.#now()
    const value = await load(key)
    const remainingMs = start + this.#ttlMs - this.#now()
    if (value === undefined || value === null) this.#values.delete(key)
    else if (remainingMs > this.#values.getRemainingTTL(key)) {
      this.#values.set(key, value, { start })
    }
    return value
  }
}

/** Caches the result of `load` for `ttlMs`; concurrent calls share it. Failures are not cached. */
export function cachedFor<Value extends {}>(
  ttlMs: number,
  load: () => Promise<Value>,
  now?: () => number,
): () => Promise<Value> {
  const cache = new LoadingCache<'', Value>(load, { ttlMs, max: 1, now })
  return async () => cache.get('') ?? cache.load('')
}

/**
 * Caches the result of `load` as `cachedFor` does, but an expired value is still returned while the
 * next one is loaded, for at most another `ttlMs`: callers wait only at first and after a pause.
 */
export function refreshedAfter<Value extends {}>(
  ttlMs: number,
  load: () => Promise<Value>,
  now?: () => number,
): () => Promise<Value> {
  const cache = new LoadingCache<'', Value>(load, { ttlMs: 2 * ttlMs, max: 1, now })
  return async () => {
    const known = cache.get('')
    if (known === undefined) return cache.load('')
    if (cache.remainingMs('') < ttlMs) cache.load('').catch(() => {}) // the next call tries again
    return known
  }
}

/** Milliseconds after the last call for which `refreshedWhileUsed` goes on loading. */
const USED_MS = 900_000

export interface FreshOptions {
  /** @defaultValue elapsedMs */
  readonly now?: () => number
  /** @defaultValue unrefSleep */
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * Caches the result of `load` as `refreshedAfter` does, and loads it again each `ttlMs` until it
 * was not used for a quarter of an hour: callers wait only at first and after such a pause. A
 * failed load ends this until the next call.
 */
export function refreshedWhileUsed<Value extends {}>(
  ttlMs: number,
  load: () => Promise<Value>,
  { now = elapsedMs, sleep = unrefSleep }: FreshOptions = {},
): () => Promise<Value> {
  const cache = new LoadingCache<'', Value>(load, { ttlMs: 2 * ttlMs, max: 1, now })
  let usedAt = 0
  let isRefreshing = false
  const refresh = async (): Promise<void> => {
    isRefreshing = true
    try {
      for (let tookMs = 0; ; ) {
        // As long as the load took, at least: a slow one must not occupy the database all the time.
        await sleep(Math.max(tookMs, cache.remainingMs('') - ttlMs))
        const startedAt = now()
        if (startedAt - usedAt >= USED_MS) return
        await cache.load('')
        tookMs = now() - startedAt
      }
    } catch {
      // the next call reports what fails
    } finally {
      isRefreshing = false
    }
  }
  return async () => {
    usedAt = now()
    const value = cache.get('') ?? (await cache.load(''))
    if (!isRefreshing) void refresh()
    return value
  }
}

/** Computes a value once per object, and caches it as long as the object lives. */
export function memoizeByObject<In extends object, Out>(
  compute: (from: In) => Out,
): (from: In) => Out {
  const values = new WeakMap<In, Out>()
  return (from) => {
    const known = values.get(from)
    if (known !== undefined) return known
    const value = compute(from)
    values.set(from, value)
    return value
  }
}
