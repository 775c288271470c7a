import { elapsedMs } from '../clock.ts'
import type { ConnectorOptions } from '../egress/connector.ts'
import { EgressError } from '../egress/errors.ts'
import { Proxy } from '../egress/proxy.ts'
import { parseTarget, type TargetRules } from '../egress/target.ts'
import type { Browser, RenderedPage, RenderRequest } from '../plugin/parts.ts'
import { RenderError } from '../plugin/render-error.ts'
import type { Tab } from './chromium.ts'
import { crashOf, Pool, type PoolOptions, type Seat } from './pool.ts'
import type { BrowserSettings } from './settings.ts'
import { Starter } from './starter.ts'
import { Visit, type Wanted } from './visit.ts'

export interface BrowserOptions extends BrowserSettings, ConnectorOptions, TargetRules {
  readonly userAgent: string
  readonly log: PoolOptions['log']
  /** Instead of the usual ones. */
  readonly limits?: Partial<typeof LIMITS>
}

const DEADLINE_MS = { usual: 20_000, most: 60_000 }
const PAGE_BYTES = { usual: 8 * 1_048_576, most: 32 * 1_048_576 }
const SELECTOR_MAX = 500
const LIMITS = {
  pages: 4,
  recycleAfter: 200,
  idleMs: 60_000,
  caps: { page: 512 * 1_048_576, browser: 2_048 * 1_048_576 },
  /** All that a page may load, with its scripts and data. */
  traffic: { maxBytes: 64 * 1_048_576, maxRequests: 1_000 },
}

/**
 * Browsers that render pages. None is started before a page is asked for, none runs on when no page
 * was asked for a while, and none survives this process.
 */
export class Renderer implements Browser {
  readonly #options: BrowserOptions
  readonly #starter: Starter
  readonly #pool: Pool
  readonly #traffic: typeof LIMITS.traffic

  constructor(options: BrowserOptions) {
    const { browsers, limits, log } = options
    this.#options = options
    this.#traffic = limits?.traffic ?? LIMITS.traffic
    this.#starter = new Starter(options, log)
    const start = () => this.#starter.start()
    this.#pool = new Pool({ ...LIMITS, ...limits, browsers, log, start })
  }

  /** The browsers that run. */
  get pids(): readonly number[] {
    return this.#pool.pids
  }

  /** @throws RenderError */
  async render(request: RenderRequest): Promise<RenderedPage> {
    const wanted = this.#settle(request)
    const late = AbortSignal.timeout(Math.ceil(wanted.end - elapsedMs()))
    const signal = request.signal ? AbortSignal.any([request.signal, late]) : late
    const seat = await this.#pool.take(signal)
    try {
      return await this.#visit(seat, wanted, signal)
    } finally {
      this.#pool.leave(seat)
    }
  }

  async close(): Promise<void> {
    await this.#pool.close()
    await this.#starter.close()
  }

  async #visit(seat: Seat, wanted: Wanted, signal: AbortSignal): Promise<RenderedPage> {
    const { chromium } = seat
    const crashed = () => crashOf(seat)
    const proxy = await Proxy.open({ ...this.#options, ...this.#traffic })
    let tab: Tab | undefined
    try {
      tab = await chromium.open(proxy.url)
      const visit = new Visit(tab, proxy, wanted, crashed)
      void chromium.gone.then(() => visit.fail(crashed(), 'the browser ended'))
      const onAbort = (): void =>
        visit.fail(visit.isAnswered ? 'render_limit_exceeded' : 'upstream_timeout', signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
      return await visit.run()
    } catch (error) {
      throw error instanceof RenderError ? error : new RenderError(crashed(), error)
    } finally {
      // A browser that did not open a page, or cannot close it, is not asked again.
      const isClosed = tab !== undefined && (await chromium.close(tab, signal.aborted))
      if (!isClosed) seat.retired = true
      await proxy.close()
    }
  }

  /** @throws RenderError `validation_failed` */
  #settle(request: RenderRequest): Wanted {
    const { hosts = [], waitFor, deadlineMs = DEADLINE_MS.usual } = request
    if (waitFor !== undefined && waitFor.length > SELECTOR_MAX) {
      throw new RenderError('validation_failed', 'waitFor is too long')
    }
    const url = this.#targetOf(request.url)
    return {
      url,
      hosts: [url.hostname, ...hosts],
      waitFor,
      maxBytes: Math.min(request.maxBytes ?? PAGE_BYTES.usual, PAGE_BYTES.most),
      userAgent: request.userAgent ?? this.#options.userAgent,
      end: elapsedMs() + Math.min(deadlineMs, DEADLINE_MS.most),
    }
  }

  #targetOf(url: string): URL {
    try {
      return parseTarget(url, this.#options)
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      throw new RenderError(error.code, error)
    }
  }
}
