import type { CDPSession, Protocol } from 'puppeteer-core'
import { elapsedMs, sleep } from '../clock.ts'
import type { Proxy } from '../egress/proxy.ts'
import type { RenderedPage } from '../plugin/parts.ts'
import { RenderError } from '../plugin/render-error.ts'
import type { Tab } from './chromium.ts'
import { VIEWPORT } from './flags.ts'
import { type FlattenedPage, flatten, slice } from './in-page/flatten.ts'
import { type Survey, scrollDown, survey } from './in-page/survey.ts'
import { IsolatedWorld } from './in-page/world.ts'
import { type DocumentResponse, isRedirect, renderCodeOf, toDocumentResponse } from './response.ts'

/** Render request with defaults and limits applied. */
export interface VisitRequest {
  readonly url: URL
  /** Allowed hosts, including that of `url`. */
  readonly hosts: readonly string[]
  readonly waitFor: string | undefined
  readonly maxBytes: number
  readonly userAgent: string
  /** Returns the headers that sign a request. */
  readonly sign: ((url: URL) => Readonly<Record<string, string>>) | undefined
  /** Deadline, by `elapsedMs`. */
  readonly end: number
}

/** A page is quiet if its tree and network were inactive for this time. */
const QUIET_MS = 300
/** Maximum duration of one survey in the page, and interval of network checks. */
const SURVEY_MS = 1_000
const POLL_MS = 50
/** Time from loading or a scroll after which a page never quiet, such as a clock, is read. */
const SETTLE_MS = 6_000
/** Maximum wait for the selector `waitFor`. */
const WAIT_FOR_MS = 10_000
/** Time reserved for reading the page. */
const READ_MS = 1_500
/** Maximum number of scrolls to the end, and of screens per scroll. */
const SCROLLS_MAX = 6
const SCREENS_MAX = 40
/** Maximum number of successive documents, by redirects and scripts. */
const DOCUMENTS_MAX = 10
/** Slice of a page's text, in UTF-16 units; at most a third of a message if all is escaped. */
const SLICE = 524_288
/** Visit of one page: loads it, waits until it is quiet, and reads it as seen by a reader. */
export class Visit {
  readonly #session: CDPSession
  readonly #proxy: Proxy
  readonly #request: VisitRequest
  readonly #failed = Promise.withResolvers<never>()
  readonly #downloaded = Promise.withResolvers<Buffer>()
  /** Response of the current document. */
  #response: DocumentResponse | undefined
  #documents = 0
  readonly #frameId: string
  readonly #world: IsolatedWorld

  /** @param onCrash returns the error code of a crash */
  constructor(
    { session, frame }: Tab,
    proxy: Proxy,
    request: VisitRequest,
    onCrash: () => RenderError['code'],
  ) {
    this.#session = session
    this.#frameId = frame
    this.#world = new IsolatedWorld(session, frame)
    this.#proxy = proxy
    this.#request = request
    session.on('Inspector.targetCrashed', () => this.fail(onCrash(), 'the page crashed'))
    this.#failed.promise.catch(ignore)
    this.#downloaded.promise.catch(ignore)
    proxy.overrun.addEventListener('abort', () => this.fail('upstream_too_large'))
  }

  /** True once a response has been received. */
  get hasResponse(): boolean {
    return this.#response !== undefined
  }

  /** Ends the visit with an error. */
  fail(...details: ConstructorParameters<typeof RenderError>): void {
    this.#failed.reject(new RenderError(...details))
  }

  /** @throws RenderError */
  async run(): Promise<RenderedPage> {
    // Chromium executes commands in order: navigation starts after the preparation.
    this.#prepare().catch((error) => this.fail('render_failed', error))
    const download = await this.#unlessFailed(
      Promise.race([this.#navigate(), this.#downloaded.promise]),
    )
    if (download) return this.#page(download, this.#response!.contentType)
    await this.#settle()
    return this.#read()
  }

  async #prepare(): Promise<void> {
    const session = this.#session
    session.on('Fetch.requestPaused', (event) => void this.#onRequest(event).catch(ignore))
    session.on('Page.javascriptDialogOpening', () => this.#dismiss())
    session.on('Page.frameNavigated', ({ frame }) => this.#onDocument(frame))
    await Promise.all([
      session.send('Page.enable'),
      session.send('Inspector.enable'),
      session.send('Emulation.setUserAgentOverride', { userAgent: this.#request.userAgent }),
      session.send('Fetch.enable', {
        patterns: (['Request', 'Response'] as const).map((requestStage) => ({
          resourceType: 'Document' as const,
          requestStage,
        })),
      }),
    ])
  }

  /** Resolves with undefined when an HTML document has loaded, else with the downloaded bytes. */
  async #navigate(): Promise<Buffer | undefined> {
    const { url } = this.#request
    const { errorText } = await this.#session.send('Page.navigate', { url: url.href })
    if (!errorText) return undefined
    if (this.#response && !this.#response.isHtml) return this.#downloaded.promise
    throw new RenderError(
      this.#proxy.faultOf(url.hostname)?.code ?? renderCodeOf(errorText),
      errorText,
    )
  }

  /** Checks every document, before its request is sent and before its response is shown. */
  async #onRequest(event: Protocol.Fetch.RequestPausedEvent): Promise<void> {
    const { requestId, frameId, request, responseStatusCode: status, responseErrorReason } = event
    const proceed = (): Promise<void> => this.#session.send('Fetch.continueRequest', { requestId })
    if (frameId !== this.#frameId || responseErrorReason !== undefined) return proceed()
    if (status === undefined) {
      const refusal = this.#refusalFor(request.url)
      if (!refusal) return this.#send(requestId, request)
      this.fail(refusal, undefined, request.url)
    } else {
      const answer = toDocumentResponse(request.url, status, event.responseHeaders ?? [])
      if (isRedirect(answer)) return proceed()
      if (answer.length > this.#request.maxBytes) this.fail('upstream_too_large')
      else if (answer.isHtml) {
        this.#response = answer
        return proceed()
      } else if (!this.#response) {
        this.#response = answer
        await this.#download(requestId).then(this.#downloaded.resolve, this.#downloaded.reject)
      }
    }
    await this.#session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' })
  }

  /** Sends the request of a document, signed. A redirect is a request of its own. */
  async #send(requestId: string, { url, headers }: Protocol.Network.Request): Promise<void> {
    const signed = Object.entries({ ...headers, ...this.#request.sign?.(new URL(url)) })
    await this.#session.send('Fetch.continueRequest', {
      requestId,
      headers: signed.map(([name, value]) => ({ name, value })),
    })
  }

  #refusalFor(address: string): RenderError['code'] | undefined {
    this.#documents += 1
    if (this.#documents > DOCUMENTS_MAX) {
      return this.#response ? 'render_limit_exceeded' : 'upstream_redirect'
    }
    return this.#isAllowed(address) ? undefined : 'content_redirected'
  }

  #isAllowed(address: string): boolean {
    const url = URL.parse(address)
    if (!url || !/^https?:$/.test(url.protocol)) return false
    return this.#request.hosts.includes(url.hostname)
  }

  /** Downloads a response that is not HTML. */
  async #download(requestId: string): Promise<Buffer> {
    const { stream } = await this.#session.send('Fetch.takeResponseBodyAsStream', { requestId })
    const parts: Buffer[] = []
    let bytes = 0
    for (;;) {
      const part = await this.#session.send('IO.read', { handle: stream, size: SLICE })
      const data = Buffer.from(part.data, part.base64Encoded ? 'base64' : 'utf8')
      parts.push(data)
      bytes += data.length
      if (bytes > this.#request.maxBytes) throw new RenderError('upstream_too_large')
      if (part.eof) return Buffer.concat(parts)
    }
  }

  #onDocument({ id, url, unreachableUrl }: Protocol.Page.Frame): void {
    if (id !== this.#frameId) return
    this.#world.forget()
    if (this.#isAllowed(url)) return
    if (unreachableUrl === undefined) {
      // Without a response it is still the initial empty page.
      return this.#response && this.fail('content_redirected')
    }
    const host = URL.parse(unreachableUrl)?.hostname ?? ''
    this.fail(this.#proxy.faultOf(host)?.code ?? 'upstream_unreachable')
  }

  #dismiss(): void {
    this.#session.send('Page.handleJavaScriptDialog', { accept: false }).catch(ignore)
  }

  /** Waits until the page is quiet, and scrolls to its end as long as it grows. */
  async #settle(): Promise<void> {
    const { waitFor = null } = this.#request
    const last = this.#request.end - READ_MS
    const found = elapsedMs() + WAIT_FOR_MS
    let start = elapsedMs()
    let height = VIEWPORT.height
    for (let scrolls = 0; ; ) {
      const page = await this.#unlessFailed(this.#survey(waitFor, last))
      const now = elapsedMs()
      if (now > last) return page?.state === 'loading' ? this.fail('upstream_timeout') : undefined
      const isLate = now > start + SETTLE_MS && page !== undefined && page.state !== 'loading'
      const isFound = page?.found || now > found
      if ((isLate || this.#isQuiet(page)) && isFound) {
        if (isLate || scrolls === SCROLLS_MAX || page.height <= height) return
        height = page.height
        scrolls += 1
        await this.#unlessFailed(this.#world.call(scrollDown, SCREENS_MAX).catch(ignore))
        start = elapsedMs()
      }
      await this.#unlessFailed(this.#awaitQuietNetwork())
    }
  }

  #isQuiet(page: Survey | undefined): page is Survey {
    return page?.state === 'complete' && page.quietMs >= QUIET_MS && this.#isNetworkQuiet()
  }

  #isNetworkQuiet(): boolean {
    return this.#proxy.pendingRequests === 0 && this.#proxy.quietMs >= QUIET_MS
  }

  /** Waits until the network is quiet, which needs no request to the page. */
  async #awaitQuietNetwork(): Promise<void> {
    const end = elapsedMs() + SURVEY_MS
    do await sleep(POLL_MS)
    while (!this.#isNetworkQuiet() && elapsedMs() < end)
  }

  /** Surveys the page; undefined between two documents. */
  async #survey(selector: string | null, last: number): Promise<Survey | undefined> {
    const maxMs = Math.min(SURVEY_MS, last - elapsedMs())
    try {
      return await this.#world.call(survey, selector, { quietMs: QUIET_MS, maxMs })
    } catch (error) {
      if (error instanceof RenderError) throw error
      return undefined
    }
  }

  async #read(): Promise<RenderedPage> {
    const { maxBytes, hosts } = this.#request
    const { length, start, url } = await this.#unlessFailed<FlattenedPage>(
      this.#world.call(flatten, maxBytes, hosts, SLICE),
    )
    if (length < 0) throw new RenderError('upstream_too_large')
    const parts = [Buffer.from(start)]
    for (let from = SLICE; from < length; from += SLICE) {
      const part = await this.#unlessFailed(this.#world.call(slice, from, from + SLICE))
      parts.push(Buffer.from(part))
    }
    const body = Buffer.concat(parts)
    if (body.length > maxBytes) throw new RenderError('upstream_too_large')
    if (!this.#isAllowed(url) || !this.#response) throw new RenderError('content_redirected')
    return { ...this.#page(body, 'text/html; charset=utf-8'), url }
  }

  #page(body: Buffer, contentType: string | undefined): RenderedPage {
    const { url, status, headers } = this.#response!
    return { url, status, headers, contentType, body }
  }

  /** Awaits a promise, but rejects as soon as the visit fails. */
  #unlessFailed<T>(work: Promise<T>): Promise<T> {
    work.catch(ignore)
    return Promise.race([work, this.#failed.promise])
  }
}

const ignore = (): void => undefined
