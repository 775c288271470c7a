import type { Pool, PoolClient } from 'pg'
import { pause } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { catchUp, type Subscriber } from './subscriber.ts'

export interface RunOptions {
  readonly pool: Pool
  readonly subscribers: readonly Subscriber[]
  readonly log: Log
  /** Looks without being woken, in ms, should a notification be lost. @defaultValue 5000 */
  readonly pollMs?: number
}

const POLL_MS = 5_000
const BACK_OFF_MS = [100, 1_000, 5_000, 30_000] as const

/**
 * Keeps subscribers going until it is stopped: each is woken by the ledger's NOTIFY, and none waits for
 * another. One that fails is tried again, later each time.
 */
export function runSubscribers(options: RunOptions): { stop(): Promise<void> } {
  const { pool, subscribers, log, pollMs = POLL_MS } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const bells = subscribers.map(() => new Bell())
  const ring = (): void => {
    for (const bell of bells) bell.ring()
  }
  const loops = subscribers.map(async (subscriber, i) => {
    let failures = 0
    while (!signal.aborted) {
      let waitMs: number = pollMs
      try {
        await catchUp(pool, subscriber)
        failures = 0
      } catch (error) {
        waitMs = BACK_OFF_MS[failures++] ?? BACK_OFF_MS.at(-1)!
        log.warn({ err: error, subscriber: subscriber.name }, 'a subscriber failed; tried again')
        await pause(waitMs, signal)
        continue
      }
      await bells[i]!.wait(waitMs, signal)
    }
  })
  const listening = listen(pool, ring, log, signal)
  return {
    async stop() {
      stopping.abort()
      ring()
      await Promise.all([...loops, listening])
    },
  }
}

/** Passes notifications on, over a connection that is made again whenever it is lost. */
async function listen(pool: Pool, ring: () => void, log: Log, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    let client: PoolClient | undefined
    try {
      client = await pool.connect()
      const lost = new Promise<void>((resolve) => {
        client!.once('error', () => resolve())
        client!.once('end', () => resolve())
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      client.on('notification', ring)
      await client.query('LISTEN ledger')
      ring() // whatever was booked before it listened
      await lost
    } catch (error) {
      log.warn({ err: error }, 'the ledger cannot be listened to; its readers look by themselves')
    } finally {
      client?.release(true)
    }
    await pause(BACK_OFF_MS[1], signal)
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
