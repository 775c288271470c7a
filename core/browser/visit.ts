import type { CDPSession, Protocol } from 'puppeteer-core'
import { elapsedMs, sleep } from '../clock.ts'
import type { Proxy } from '../egress/proxy.ts'
import type { RenderedPage } from '../plugin/parts.ts'
import { RenderError } from '../plugin/render-error.ts'
import { type Answer, answerOf, faultOfNet, isRedirect } from './answer.ts'
import type { Tab } from './chromium.ts'
import { type Flat, flatten, slice } from './inside/flatten.ts'
import { type Survey, scrollDown, survey } from './inside/survey.ts'
import { InnerWorld } from './inside/world.ts'

/** A request whose defaults and limits are settled. */
export interface Wanted {
  readonly url: URL
  /** Hosts that the page may lead to, with that of `url`. */
  readonly hosts: readonly string[]
  readonly waitFor: string | undefined
  readonly maxBytes: number
  readonly userAgent: string
  /** When it has to be over, by `elapsedMs`. */
  readonly end: number
}

/** A page is quiet when neither its tree nor its network did anything for so long. */
const QUIET_MS = 300
/** How long the page is listened to at a time, and how often the network is looked at. */
const LOOK_MS = 1_000
const POLL_MS = 50
/** What never becomes quiet, such as a clock, is taken as it is after so long. */
const SETTLE_MS = 6_000
/** What the owner of the page wants to be waited for is waited for longer. */
const WAIT_FOR_MS = 10_000
/** Left for reading the page down. */
const READ_MS = 1_500
/** How often the page is scrolled to its end, and how many screens at most each time. */
const SCROLLS_MAX = 6
const SCREENS_MAX = 40
/** Documents that one page may lead to, one after the other, by redirects and scripts. */
const DOCUMENTS_MAX = 10
/** Of a page's text at a time, in UTF-16 units; a third of a message even when all is escaped. */
const SLICE = 524_288
/** In CSS pixels; what is no higher is seen without scrolling. */
export const SCREEN = { width: 1_280, height: 1_024 }

/** One page on its way: from the first request to what its reader sees. */
export class Visit {
  readonly #session: CDPSession
  readonly #proxy: Proxy
  readonly #wanted: Wanted
  readonly #failed = Promise.withResolvers<never>()
  readonly #whole = Promise.withResolvers<Buffer>()
  /** The answer that the document in sight came with. */
  #answer: Answer | undefined
  #documents = 0
  readonly #frame: string
  readonly #inside: InnerWorld

  /** @param onCrash says why a page crashed, as far as it is known */
  constructor(
    { session, frame }: Tab,
    proxy: Proxy,
    wanted: Wanted,
    onCrash: () => RenderError['code'],
  ) {
    this.#session = session
    this.#frame = frame
    this.#inside = new InnerWorld(session, frame)
    this.#proxy = proxy
    this.#wanted = wanted
    session.on('Inspector.targetCrashed', () => this.fail(onCrash(), 'the page crashed'))
    this.#failed.promise.catch(ignore)
    this.#whole.promise.catch(ignore)
    proxy.overrun.addEventListener('abort', () => this.fail('upstream_too_large'))
  }

  /** Whether the document has begun to arrive. */
  get isAnswered(): boolean {
    return this.#answer !== undefined
  }

  /** Ends the visit. */
  fail(...[code, cause]: ConstructorParameters<typeof RenderError>): void {
    this.#failed.reject(new RenderError(code, cause))
  }

  /** @throws RenderError */
  async run(): Promise<RenderedPage> {
    // Chromium takes commands in their order: the page is not asked for before all is prepared.
    this.#prepare().catch((error) => this.fail('render_failed', error))
    const gone = await this.#until(Promise.race([this.#navigate(), this.#whole.promise]))
    if (gone) return this.#page(gone, this.#answer!.contentType)
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
      session.send('Emulation.setUserAgentOverride', { userAgent: this.#wanted.userAgent }),
      session.send('Fetch.enable', {
        patterns: (['Request', 'Response'] as const).map((requestStage) => ({
          resourceType: 'Document' as const,
          requestStage,
        })),
      }),
    ])
  }

  /** Comes to an end when the document is there, or what else was sent was read. */
  async #navigate(): Promise<Buffer | undefined> {
    const { url } = this.#wanted
    const { errorText } = await this.#session.send('Page.navigate', { url: url.href })
    if (!errorText) return undefined
    if (this.#answer && !this.#answer.isHtml) return this.#whole.promise
    throw new RenderError(
      this.#proxy.faultOf(url.hostname)?.code ?? faultOfNet(errorText),
      errorText,
    )
  }

  /** Every document, before it is asked for and before it is shown. */
  async #onRequest(event: Protocol.Fetch.RequestPausedEvent): Promise<void> {
    const { requestId, frameId, request, responseStatusCode: status, responseErrorReason } = event
    const goOn = (): Promise<void> => this.#session.send('Fetch.continueRequest', { requestId })
    if (frameId !== this.#frame || responseErrorReason !== undefined) return goOn()
    if (status === undefined) {
      const refusal = this.#refusalOf(request.url)
      if (!refusal) return goOn()
      this.fail(refusal)
    } else {
      const answer = answerOf(request.url, status, event.responseHeaders ?? [])
      if (isRedirect(answer)) return goOn()
      if (answer.length > this.#wanted.maxBytes) this.fail('upstream_too_large')
      else if (answer.isHtml) {
        this.#answer = answer
        return goOn()
      } else if (!this.#answer) {
        this.#answer = answer
        await this.#download(requestId).then(this.#whole.resolve, this.#whole.reject)
      }
    }
    await this.#session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' })
  }

  #refusalOf(address: string): RenderError['code'] | undefined {
    this.#documents += 1
    if (this.#documents > DOCUMENTS_MAX) return 'render_limit_exceeded'
    return this.#mayLead(address) ? undefined : 'content_redirected'
  }

  #mayLead(address: string): boolean {
    const url = URL.parse(address)
    if (!url || !/^https?:$/.test(url.protocol)) return false
    return this.#wanted.hosts.includes(url.hostname)
  }

  /** What is no page is not shown, but taken as it is. */
  async #download(requestId: string): Promise<Buffer> {
    const { stream } = await this.#session.send('Fetch.takeResponseBodyAsStream', { requestId })
    const parts: Buffer[] = []
    let bytes = 0
    for (;;) {
      const part = await this.#session.send('IO.read', { handle: stream, size: SLICE })
      const data = Buffer.from(part.data, part.base64Encoded ? 'base64' : 'utf8')
      parts.push(data)
      bytes += data.length
      if (bytes > this.#wanted.maxBytes) throw new RenderError('upstream_too_large')
      if (part.eof) return Buffer.concat(parts)
    }
  }

  #onDocument({ id, url, unreachableUrl }: Protocol.Page.Frame): void {
    if (id !== this.#frame) return
    this.#inside.forget()
    if (this.#mayLead(url)) return
    if (unreachableUrl === undefined) {
      // Without an answer it is the empty page that was there before.
      return this.#answer && this.fail('content_redirected')
    }
    const host = URL.parse(unreachableUrl)?.hostname ?? ''
    this.fail(this.#proxy.faultOf(host)?.code ?? 'upstream_unreachable')
  }

  #dismiss(): void {
    this.#session.send('Page.handleJavaScriptDialog', { accept: false }).catch(ignore)
  }

  /** Waits until nothing changes any more, and scrolls to the end as long as there is more. */
  async #settle(): Promise<void> {
    const { waitFor = null } = this.#wanted
    const start = elapsedMs()
    const last = this.#wanted.end - READ_MS
    let height = SCREEN.height
    for (let scrolls = 0; ; ) {
      const seen = await this.#until(this.#look(waitFor, last))
      const now = elapsedMs()
      if (now > last) return seen?.state === 'loading' ? this.fail('upstream_timeout') : undefined
      const isLate = now > start + SETTLE_MS && seen !== undefined && seen.state !== 'loading'
      const isFound = seen?.found || now > start + WAIT_FOR_MS
      if ((isLate || this.#isQuiet(seen)) && isFound) {
        if (isLate || scrolls === SCROLLS_MAX || seen.height <= height) return
        height = seen.height
        scrolls += 1
        await this.#until(this.#inside.call(scrollDown, SCREENS_MAX).catch(ignore))
      }
      await this.#until(this.#hush())
    }
  }

  #isQuiet(seen: Survey | undefined): seen is Survey {
    return seen?.state === 'complete' && seen.quietMs >= QUIET_MS && this.#isHushed()
  }

  #isHushed(): boolean {
    return this.#proxy.waiting === 0 && this.#proxy.quietMs >= QUIET_MS
  }

  /** Waits for the network to be quiet; the page need not be asked for that. */
  async #hush(): Promise<void> {
    const end = elapsedMs() + LOOK_MS
    do await sleep(POLL_MS)
    while (!this.#isHushed() && elapsedMs() < end)
  }

  /** Undefined between two documents. */
  async #look(selector: string | null, last: number): Promise<Survey | undefined> {
    const mostMs = Math.min(LOOK_MS, last - elapsedMs())
    try {
      return await this.#inside.call(survey, selector, { quietMs: QUIET_MS, mostMs })
    } catch (error) {
      if (error instanceof RenderError) throw error
      return undefined
    }
  }

  async #read(): Promise<RenderedPage> {
    const { maxBytes, hosts } = this.#wanted
    const { length, start, url } = await this.#until<Flat>(
      this.#inside.call(flatten, maxBytes, hosts, SLICE),
    )
    if (length < 0) throw new RenderError('upstream_too_large')
    const parts = [Buffer.from(start)]
    for (let from = SLICE; from < length; from += SLICE) {
      const part = await this.#until(this.#inside.call(slice, from, from + SLICE))
      parts.push(Buffer.from(part))
    }
    const body = Buffer.concat(parts)
    if (body.length > maxBytes) throw new RenderError('upstream_too_large')
    if (!this.#mayLead(url) || !this.#answer) throw new RenderError('content_redirected')
    return { ...this.#page(body, 'text/html; charset=utf-8'), url }
  }

  #page(body: Buffer, contentType: string | undefined): RenderedPage {
    const { url, status, headers } = this.#answer!
    return { url, status, headers, contentType, body }
  }

  /** What is waited for is waited for no longer than until the visit has failed. */
  #until<T>(work: Promise<T>): Promise<T> {
    work.catch(ignore)
    return Promise.race([work, this.#failed.promise])
  }
}

const ignore = (): void => undefined
