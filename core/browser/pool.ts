import { elapsedMs, unrefSleep } from '../clock.ts'
import type { RenderParties } from '../plugin/parts.ts'
import { RenderError } from '../plugin/render-error.ts'
import type { Chromium } from './chromium.ts'
import { SlotQueue, type Ticket } from './slot-queue.ts'
import { findOverCap, type MemoryCaps, ProcessGroup } from './watchdog.ts'

export interface PoolOptions {
  /** Maximum number of browsers. */
  readonly browsers: number
  /** Maximum number of pages per browser. */
  readonly pages: number
  /** Number of pages after which a browser is replaced, because it leaks some memory. */
  readonly recycleAfter: number
  /** Idle time before a browser is closed. */
  readonly idleMs: number
  readonly caps: MemoryCaps
  readonly start: () => Promise<Chromium>
  readonly log: (message: string, fields?: Readonly<Record<string, unknown>>) => void
}

const WATCH_MS = 200
/** A crash within this time after a kill by the watchdog is attributed to it. */
const KILL_BLAME_MS = 2_000

/** Browser of the pool. */
export interface PooledBrowser {
  readonly chromium: Chromium
  /** Number of open pages. */
  openPages: number
  /** True if it accepts no more pages. */
  retired: boolean
  /** Time of the last kill by the watchdog, by `elapsedMs`. */
  lastKillMs: number
}

/** Page slot of a browser, for one render. */
export interface Slot {
  readonly browser: PooledBrowser
  readonly ticket: Ticket
}

/** Pool of browsers, started on demand, whose page slots are shared fairly among callers. */
export class Pool {
  readonly #options: PoolOptions
  readonly #browsers = new Set<PooledBrowser>()
  readonly #queue: SlotQueue
  #starting = 0
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#queue = new SlotQueue(options.browsers * options.pages)
  }

  /** Process ids of the running browsers. */
  get pids(): readonly number[] {
    return [...this.#browsers].map(({ chromium }) => chromium.pid)
  }

  /** Acquires a slot for a page, for `release`. @throws RenderError `render_unavailable` */
  async acquire(parties: RenderParties, signal: AbortSignal): Promise<Slot> {
    if (this.#closed || this.#options.browsers === 0) throw new RenderError('render_unavailable')
    const { promise, resolve, reject } = Promise.withResolvers<Slot>()
    const ticket: Ticket = {
      parties,
      start: () => resolve({ browser: occupy(this.#findFree()!), ticket }),
      refuse: reject,
    }
    const onAbort = (): void => {
      this.#queue.remove(ticket)
      reject(new RenderError('render_unavailable', signal.reason))
    }
    signal.addEventListener('abort', onAbort, { once: true })
    this.#queue.add(ticket)
    this.#serveWaiting()
    return promise.finally(() => signal.removeEventListener('abort', onAbort))
  }

  /** @param timedOut true if the page used up its time */
  release({ browser, ticket }: Slot, timedOut: boolean): void {
    this.#queue.record(ticket, timedOut)
    this.#queue.remove(ticket)
    browser.openPages -= 1
    if (browser.chromium.openedPages >= this.#options.recycleAfter) browser.retired = true
    if (browser.retired && browser.openPages === 0) void this.#end(browser)
    else if (browser.openPages === 0) void this.#endWhenIdle(browser)
    this.#serveWaiting()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#queue.refuseAll()
    await Promise.all([...this.#browsers].map((browser) => this.#end(browser)))
  }

  /** Returns the busiest browser with a free slot, so that others can become idle. */
  #findFree(): PooledBrowser | undefined {
    return [...this.#browsers]
      .filter(({ retired, openPages }) => !retired && openPages < this.#options.pages)
      .toSorted((a, b) => b.openPages - a.openPages)[0]
  }

  /** Gives free slots to waiting callers, and starts a browser if some remain. */
  #serveWaiting(): void {
    while (this.#findFree()) {
      const next = this.#queue.take()
      if (!next) return
      next.start()
    }
    this.#startIfNeeded()
  }

  #startIfNeeded(): void {
    const serving = [...this.#browsers].filter(({ retired }) => !retired).length + this.#starting
    if (this.#closed || serving >= this.#options.browsers) return
    if (this.#queue.length <= this.#starting * this.#options.pages) return
    this.#starting += 1
    void this.#start().finally(() => {
      this.#starting -= 1
      this.#serveWaiting()
    })
  }

  async #start(): Promise<void> {
    try {
      const chromium = await this.#options.start()
      const browser: PooledBrowser = {
        chromium,
        openPages: 0,
        retired: false,
        lastKillMs: -KILL_BLAME_MS,
      }
      this.#browsers.add(browser)
      void chromium.exited.then(() => this.#onExit(browser))
      void this.#watch(browser)
      if (this.#closed) await this.#end(browser)
    } catch (error) {
      this.#options.log('failed to start a browser', { err: error })
      this.#queue.refuseAll(error)
    }
  }

  #onExit(browser: PooledBrowser): void {
    browser.retired = true
    if (this.#browsers.delete(browser)) this.#options.log('a browser exited unexpectedly')
    this.#serveWaiting()
  }

  async #end(browser: PooledBrowser): Promise<void> {
    browser.retired = true
    this.#browsers.delete(browser)
    await browser.chromium.stop()
  }

  async #endWhenIdle(browser: PooledBrowser): Promise<void> {
    const { openedPages } = browser.chromium
    await unrefSleep(this.#options.idleMs)
    if (browser.openPages === 0 && !browser.retired && browser.chromium.openedPages === openedPages)
      await this.#end(browser)
  }

  /** Kills processes above their memory cap while the browser runs. */
  async #watch(browser: PooledBrowser): Promise<void> {
    const group = new ProcessGroup(browser.chromium.pid)
    while (this.#browsers.has(browser)) {
      await unrefSleep(WATCH_MS)
      if (browser.openPages === 0) continue
      const victims = findOverCap(await group.processes(), this.#options.caps)
      if (victims.length === 0) continue
      browser.lastKillMs = elapsedMs()
      this.#options.log('killed a page that used too much memory', { victims })
      if (victims === 'all') await browser.chromium.kill()
      else for (const pid of victims) killProcess(pid)
    }
  }
}

/** Probable error code of a crash. */
export const crashCode = ({ lastKillMs }: PooledBrowser): RenderError['code'] =>
  elapsedMs() - lastKillMs < KILL_BLAME_MS ? 'render_limit_exceeded' : 'render_failed'

function occupy(browser: PooledBrowser): PooledBrowser {
  browser.openPages += 1
  return browser
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // already exited
  }
}
