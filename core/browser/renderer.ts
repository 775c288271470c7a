import { elapsedMs } from '../clock.ts'
import type { ConnectorOptions } from '../egress/connector.ts'
import { EgressError } from '../egress/errors.ts'
import { Proxy } from '../egress/proxy.ts'
import { parseTarget, type TargetRules } from '../egress/target.ts'
import type { Browser, RenderedPage, RenderRequest } from '../plugin/parts.ts'
import { RenderError } from '../plugin/render-error.ts'
import type { Tab } from './chromium.ts'
import { crashCode, Pool, type PooledBrowser, type PoolOptions } from './pool.ts'
import type { BrowserSettings } from './settings.ts'
import { Starter } from './starter.ts'
import { Visit, type VisitRequest } from './visit.ts'

export interface BrowserOptions extends BrowserSettings, ConnectorOptions, TargetRules {
  readonly userAgent: string
  /** Returns the headers that sign the request of the page. @defaultValue none */
  readonly sign?: VisitRequest['sign']
  readonly log: PoolOptions['log']
  /** Overrides of the default limits. */
  readonly limits?: Partial<typeof LIMITS>
}

const DEADLINE_MS = { usual: 20_000, most: 60_000 }
const PAGE_BYTES = { usual: 8 * 1_048_576, most: 32 * 1_048_576 }
const SELECTOR_MAX = 500
/** Errors of pages that used up their time or memory. */
const SLOW_CODES: ReadonlySet<string> = new Set(['upstream_timeout', 'render_limit_exceeded'])
const LIMITS = {
  pages: 4,
  recycleAfter: 200,
  idleMs: 60_000,
  caps: { page: 512 * 1_048_576, browser: 2_048 * 1_048_576 },
  /** Limits of what a page may load, including scripts and data. */
  traffic: { maxBytes: 64 * 1_048_576, maxRequests: 1_000 },
}

/** Renders pages with a pool of browsers: started on demand, closed when idle or at the exit. */
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

  /** Process ids of the running browsers. */
  get pids(): readonly number[] {
    return this.#pool.pids
  }

  /** @throws RenderError */
  async render(request: RenderRequest): Promise<RenderedPage> {
    const visitRequest = this.#resolveRequest(request)
    const timeout = AbortSignal.timeout(Math.ceil(visitRequest.end - elapsedMs()))
    const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout
    const slot = await this.#pool.acquire(request.parties ?? { paid: true }, signal)
    let timedOut = false
    try {
      return await this.#visit(slot.browser, visitRequest, signal)
    } catch (error) {
      timedOut = error instanceof RenderError && SLOW_CODES.has(error.code)
      throw error
    } finally {
      this.#pool.release(slot, timedOut)
    }
  }

  async close(): Promise<void> {
    await this.#pool.close()
    await this.#starter.close()
  }

  async #visit(
    browser: PooledBrowser,
    visitRequest: VisitRequest,
    signal: AbortSignal,
  ): Promise<RenderedPage> {
    const { chromium } = browser
    const crashed = () => crashCode(browser)
    const proxy = await Proxy.open({ ...this.#options, ...this.#traffic })
    let tab: Tab | undefined
    try {
      tab = await chromium.open(proxy.url)
      const visit = new Visit(tab, proxy, visitRequest, crashed)
      void chromium.exited.then(() => visit.fail(crashed(), 'the browser ended'))
      const onAbort = (): void =>
        visit.fail(visit.hasResponse ? 'render_limit_exceeded' : 'upstream_timeout', signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
      return await visit.run()
    } catch (error) {
      throw error instanceof RenderError ? error : new RenderError(crashed(), error)
    } finally {
      // Do not reuse a browser that failed to open or close a page.
      const isClosed = tab !== undefined && (await chromium.close(tab, signal.aborted))
      if (!isClosed) browser.retired = true
      await proxy.close()
    }
  }

  /** @throws RenderError `validation_failed` */
  #resolveRequest(request: RenderRequest): VisitRequest {
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
      sign: this.#options.sign,
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
