import type { Pool } from 'pg'
import { elapsedMs, pause } from '../../clock.ts'
import { isDistributed } from '../../db/citus/is-distributed.ts'
import { listenOnWorkers } from '../../db/citus/listen-on-workers.ts'
import { listenOnChannel } from '../../db/listen.ts'
import { reconnectPauseMs } from '../../db/reconnect-pause.ts'
import type { Log } from '../../log.ts'
import { isDatabaseDown, logFailure } from '../../outages.ts'
import { advance, enroll, PAGE_MAX, PageFailed, type Subscriber } from './subscriber.ts'

export interface RunOptions {
  readonly pool: Pool
  readonly subscribers: readonly Subscriber[]
  readonly log: Log
  /** Milliseconds between polls, in case a notification is lost. @defaultValue 5000 */
  readonly pollMs?: number
  /** Entries per transaction, at most. @defaultValue 10000 */
  readonly pageMax?: bigint
}

const POLL_MS = 5_000
/** Pause after a partial page, as a multiple of its time. */
const PAUSE_FACTOR = 10
/** Pause for each entry of a partial page: few large pages are cheaper. */
const PAUSE_ENTRY_MS = 5
const PAUSE_MS = { min: 100, max: 1_000 } as const
/** Pauses after failures of a working database, such as entries that cannot be handled. */
const BACK_OFF_MS = [100, 1_000, 5_000, 30_000] as const

/**
 * Runs subscribers until stopped, woken by the ledger's NOTIFY. Each subscriber advances
 * independently on each shard: one that fails delays no other, and is retried with back-off.
 * @throws Error if the database is unreachable at the start; later failures are logged and retried
 */
export async function runSubscribers(options: RunOptions): Promise<{ stop(): Promise<void> }> {
  const { pool, subscribers, log } = options
  const enrolled = await Promise.all(
    subscribers.map(async (each) => ({ subscriber: each, shards: await enroll(pool, each) })),
  )
  const isCluster = pool.options.connectionString !== undefined && (await isDistributed(pool))
  const stopping = new AbortController()
  const { signal } = stopping
  const signals = new Signals()
  const followers = enrolled.flatMap(({ subscriber, shards }) =>
    shards.map((shard) => runSubscriber(options, subscriber, shard, signals.add(shard), signal)),
  )
  const channel = {
    channel: 'ledger',
    onNotify: (shard: string | undefined) => signals.wake(Number(shard)),
    onListening: () => signals.wake(), // entries may have been posted before LISTEN
  }
  const running = [
    listenOnChannel(pool, channel, log, signal),
    ...(isCluster ? [listenOnWorkers(pool, channel, log, signal)] : []),
    ...followers,
  ]
  return {
    async stop() {
      stopping.abort()
      signals.wake()
      await Promise.all(running)
    },
  }
}

/** Handles the entries of one shard for a subscriber, and waits for more. */
async function runSubscriber(
  { pool, log, pollMs = POLL_MS, pageMax = PAGE_MAX }: RunOptions,
  subscriber: Subscriber,
  shard: number,
  wakeSignal: WakeSignal,
  signal: AbortSignal,
): Promise<void> {
  let size = pageMax
  let failures = 0
  while (!signal.aborted) {
    const start = elapsedMs()
    try {
      const handled = await advance(pool, subscriber, shard, { pageMax: size })
      const isFull = handled === size // there may be more
      failures = 0
      size = size * 2n < pageMax ? size * 2n : pageMax
      const pauseMs = pauseAfter(handled, elapsedMs() - start)
      if (handled === 0n) await wakeSignal.wait(pollMs, signal)
      if (!isFull) await pause(pauseMs, signal)
    } catch (error) {
      // Smaller and smaller pages handle all entries before the one that fails.
      const failed = error instanceof PageFailed ? error.page.to - error.page.from + 1n : 1n
      if (failed > 1n) size = failed / 2n
      else {
        const retryMs = isDatabaseDown(error)
          ? reconnectPauseMs()
          : (BACK_OFF_MS[failures++] ?? BACK_OFF_MS.at(-1)!)
        const level = error instanceof PageFailed ? 'error' : 'warn'
        const place = { subscriber: subscriber.name, shard, retryMs }
        logFailure(log, level, { err: error, ...place }, 'ledger subscriber failed')
        await pause(retryMs, signal)
      }
    }
  }
}

/** Returns the pause after a partial page, by its entries and its time. */
function pauseAfter(entries: bigint, tookMs: number): number {
  const pauseMs = Math.max(PAUSE_FACTOR * tookMs, PAUSE_ENTRY_MS * Number(entries), PAUSE_MS.min)
  return Math.min(pauseMs, PAUSE_MS.max)
}

/** Wake signals of all subscribers, one for each of their shards. */
class Signals {
  readonly #signals: { readonly shard: number; readonly wakeSignal: WakeSignal }[] = []

  add(shard: number): WakeSignal {
    const wakeSignal = new WakeSignal()
    this.#signals.push({ shard, wakeSignal })
    return wakeSignal
  }

  wake(shard?: number): void {
    for (const each of this.#signals) {
      if (shard === undefined || each.shard === shard) each.wakeSignal.wake()
    }
  }
}

/** Auto-reset event: several `wake` calls before a `wait` end that wait once. */
class WakeSignal {
  #isSignaled = false
  #wakeWaiter: (() => void) | undefined

  wake(): void {
    this.#isSignaled = true
    this.#wakeWaiter?.()
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isSignaled && !signal.aborted) {
      const woken = new AbortController()
      this.#wakeWaiter = () => woken.abort()
      await pause(ms, woken.signal)
      this.#wakeWaiter = undefined
    }
    this.#isSignaled = false
  }
}
