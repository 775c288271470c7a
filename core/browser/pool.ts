import { elapsedMs, patience } from '../clock.ts'
import { RenderError } from '../plugin/render-error.ts'
import type { Chromium } from './chromium.ts'
import { type Caps, overweight, ProcessGroup } from './watchdog.ts'

export interface PoolOptions {
  /** Browsers at a time. */
  readonly browsers: number
  /** Pages at a time in each. */
  readonly pages: number
  /** A browser that has opened so many is replaced, since some memory never comes back. */
  readonly recycleAfter: number
  /** Milliseconds without a page, after which a browser is ended. */
  readonly idleMs: number
  readonly caps: Caps
  readonly start: () => Promise<Chromium>
  readonly log: (message: string, fields?: Readonly<Record<string, unknown>>) => void
}

/** Callers that may wait for a place, for each place. */
const WAITING_MAX = 8
const WATCH_MS = 200
/** A crash so soon after the watchdog bit is its doing. */
const BITE_MS = 2_000

/** A browser of the pool. */
export interface Seat {
  readonly chromium: Chromium
  /** Pages that are open. */
  busy: number
  /** Takes no more pages. */
  retired: boolean
  /** When the watchdog last ended a process of it, by `elapsedMs`. */
  bitten: number
}

/** Keeps a few browsers, started when they are needed, and shares their places out. */
export class Pool {
  readonly #options: PoolOptions
  readonly #seats = new Set<Seat>()
  readonly #waiting: { resolve: (seat: Seat) => void; reject: (error: Error) => void }[] = []
  #starting = 0
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Processes that run for it. */
  get pids(): readonly number[] {
    return [...this.#seats].map(({ chromium }) => chromium.pid)
  }

  /**
   * A place for one page; `leave` gives it back.
   * @throws RenderError `render_unavailable` when too many wait already, or no browser starts
   */
  async take(signal: AbortSignal): Promise<Seat> {
    if (this.#closed) throw new RenderError('render_unavailable')
    const free = this.#free()
    if (free) return occupy(free)
    const { browsers, pages } = this.#options
    if (this.#waiting.length >= browsers * pages * WAITING_MAX) {
      throw new RenderError('render_unavailable', 'too many wait for a page')
    }
    const { promise, resolve, reject } = Promise.withResolvers<Seat>()
    const waiting = { resolve, reject }
    this.#waiting.push(waiting)
    const onAbort = (): void => {
      const index = this.#waiting.indexOf(waiting)
      if (index >= 0) this.#waiting.splice(index, 1)
      reject(new RenderError('render_unavailable', signal.reason))
    }
    signal.addEventListener('abort', onAbort, { once: true })
    this.#grow()
    return promise.finally(() => signal.removeEventListener('abort', onAbort))
  }

  leave(seat: Seat): void {
    seat.busy -= 1
    if (seat.chromium.opened >= this.#options.recycleAfter) seat.retired = true
    if (seat.retired && seat.busy === 0) void this.#end(seat)
    else if (seat.busy === 0) void this.#endWhenIdle(seat)
    this.#serve()
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { reject } of this.#waiting.splice(0)) reject(new RenderError('render_unavailable'))
    await Promise.all([...this.#seats].map((seat) => this.#end(seat)))
  }

  /** The busiest browser with a free place, so that others can become idle. */
  #free(): Seat | undefined {
    return [...this.#seats]
      .filter(({ retired, busy }) => !retired && busy < this.#options.pages)
      .toSorted((a, b) => b.busy - a.busy)[0]
  }

  /** Hands free places to who waits, and starts a browser for who is left. */
  #serve(): void {
    for (let seat = this.#free(); seat && this.#waiting.length > 0; seat = this.#free()) {
      this.#waiting.shift()!.resolve(occupy(seat))
    }
    this.#grow()
  }

  #grow(): void {
    const serving = [...this.#seats].filter(({ retired }) => !retired).length + this.#starting
    if (this.#closed || serving >= this.#options.browsers) return
    if (this.#waiting.length <= this.#starting * this.#options.pages) return
    this.#starting += 1
    void this.#start().finally(() => {
      this.#starting -= 1
      this.#serve()
    })
  }

  async #start(): Promise<void> {
    try {
      const chromium = await this.#options.start()
      const seat: Seat = { chromium, busy: 0, retired: false, bitten: -BITE_MS }
      this.#seats.add(seat)
      void chromium.gone.then(() => this.#onGone(seat))
      void this.#watch(seat)
      if (this.#closed) await this.#end(seat)
    } catch (error) {
      this.#options.log('no browser starts', { err: error })
      const late = this.#waiting.splice(0)
      for (const { reject } of late) reject(new RenderError('render_unavailable', error))
    }
  }

  #onGone(seat: Seat): void {
    seat.retired = true
    if (this.#seats.delete(seat)) this.#options.log('a browser ended by itself')
    this.#serve()
  }

  async #end(seat: Seat): Promise<void> {
    seat.retired = true
    this.#seats.delete(seat)
    await seat.chromium.stop()
  }

  async #endWhenIdle(seat: Seat): Promise<void> {
    const { opened } = seat.chromium
    await patience(this.#options.idleMs)
    if (seat.busy === 0 && !seat.retired && seat.chromium.opened === opened) await this.#end(seat)
  }

  /** Ends what takes too much memory, as long as the browser runs. */
  async #watch(seat: Seat): Promise<void> {
    const group = new ProcessGroup(seat.chromium.pid)
    while (this.#seats.has(seat)) {
      await patience(WATCH_MS)
      if (seat.busy === 0) continue
      const victims = overweight(await group.processes(), this.#options.caps)
      if (victims.length === 0) continue
      seat.bitten = elapsedMs()
      this.#options.log('a page takes too much memory', { victims })
      if (victims === 'all') await seat.chromium.kill()
      else for (const pid of victims) end(pid)
    }
  }
}

/** Why a page of it crashed, as far as is known. */
export const crashOf = ({ bitten }: Seat): RenderError['code'] =>
  elapsedMs() - bitten < BITE_MS ? 'render_limit_exceeded' : 'render_failed'

function occupy(seat: Seat): Seat {
  seat.busy += 1
  return seat
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It was faster.
  }
}
