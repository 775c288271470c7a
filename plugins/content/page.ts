import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import {
  type Domains,
  EgressError,
  type EgressResponse,
  Failure,
  type Host,
  type PageRefusal,
  type PricedPage,
  Refusal,
  RenderError,
  retryAfterSeconds,
  type SellingDomain,
} from 'agenthub/plugin'
import { directivesOf } from './directives.ts'
import { type Article, type Document, ExtractionError } from './extract/article.ts'
import { read } from './extract/index.ts'
import { isMissingPageNotice } from './missing-page.ts'

/** The article of a page, and how it was read. */
export interface PageReading {
  readonly article: Article
  readonly way: 'browser' | 'fast'
  /** Wishes of the page to robots, such as `noai`. */
  readonly directives: readonly string[]
}

/**
 * Confidence below which the text of an article is doubtful: one in twelve, of which a fifth is
 * wrong in large part. Other kinds have parts that a second reading never agrees on.
 */
const CONFIDENCE_MIN = 0.5

export interface PageDeps {
  readonly host: Pick<Host, 'http' | 'browser' | 'log' | 'clock'>
  readonly domains: Pick<Domains, 'mayRead'>
}

/** A request for a page. */
export interface PageRequest {
  readonly domain: SellingDomain
  readonly page: PricedPage
  readonly signal: AbortSignal
  /** Stable id of the payer; undefined for callers without a key, who are many. */
  readonly payer: string | undefined
  /** True if the caller pays for the page. */
  readonly paid: boolean
}

const RENDER_MS = 30_000
const FAST_MS = 10_000
const BYTES_MAX = 8_388_608
const HOPS_MAX = 5

/**
 * Reads a page as its rule says.
 * @throws Refusal `robots_disallowed` or `page_not_found`, RenderError, Failure; the caller is
 * refunded
 */
export async function readPage(deps: PageDeps, pageRequest: PageRequest): Promise<PageReading> {
  const { rule, url } = pageRequest.page
  await assertAllowed(deps, url)
  if (!rule.fast) return renderPage(deps, pageRequest)
  let fetched: PageReading
  try {
    fetched = await fetchPage(deps, pageRequest)
  } catch (error) {
    if (!mayNeedBrowser(error)) throw error
    deps.host.log('a page needs the browser', { url, code: error.code })
    return renderPage(deps, pageRequest)
  }
  return isDoubtful(fetched) ? renderDoubtful(deps, pageRequest, fetched) : fetched
}

/** Returns true if the text of an article may lack parts or contain surroundings. */
export const isDoubtful = ({ article }: Pick<PageReading, 'article'>): boolean =>
  article.kind === 'article' && article.confidence !== null && article.confidence < CONFIDENCE_MIN

/** Renders a page whose text is doubtful. Returns the more certain of both readings. */
async function renderDoubtful(
  deps: PageDeps,
  pageRequest: PageRequest,
  fetched: PageReading,
): Promise<PageReading> {
  const { confidence } = fetched.article
  deps.host.log('a page needs the browser', { url: pageRequest.page.url, confidence })
  try {
    const rendered = await renderPage(deps, pageRequest)
    return (rendered.article.confidence ?? 0) > (confidence ?? 0) ? rendered : fetched
  } catch {
    pageRequest.signal.throwIfAborted()
    return fetched
  }
}

/** Returns true if a browser may find text where plain HTTP did not. */
const mayNeedBrowser = (error: unknown): error is Failure =>
  error instanceof Failure && error.code === 'content_empty'

async function renderPage(deps: PageDeps, pageRequest: PageRequest): Promise<PageReading> {
  const { page, domain, signal, payer, paid } = pageRequest
  const rendered = deps.host.browser.render({
    url: page.url,
    waitFor: page.rule.waitFor ?? undefined,
    signal,
    deadlineMs: RENDER_MS,
    maxBytes: BYTES_MAX,
    parties: { payer, site: domain.provider, paid },
  })
  const { url, status, headers, body, contentType } = await rendered.catch((error: unknown) => {
    throw explainRedirect(pageRequest, error)
  })
  assertDelivered(status, headers)
  await assertAllowed(deps, resolveRedirect(pageRequest, url))
  const article = await articleOf(pageRequest, { body, contentType, url }, false)
  return { article, way: 'browser', directives: directivesOf(headers['x-robots-tag'], body) }
}

async function fetchPage(deps: PageDeps, pageRequest: PageRequest): Promise<PageReading> {
  let { url } = pageRequest.page
  for (let hops = 0; hops <= HOPS_MAX; hops += 1) {
    const { status, headers, body } = await request(deps.host, url, pageRequest.signal)
    const { location } = headers
    if (status >= 300 && status < 400 && typeof location === 'string') {
      url = resolveRedirect(pageRequest, URL.parse(location, url)?.href ?? '')
      await assertAllowed(deps, url)
      continue
    }
    assertDelivered(status, headers)
    const [contentType] = [headers['content-type']].flat()
    const document = { body: await inflateBody(body, headers), contentType, url }
    const article = await articleOf(pageRequest, document, true)
    const directives = directivesOf(headers['x-robots-tag'], document.body)
    return { article, way: 'fast', directives }
  }
  throw tooManyRedirects()
}

/** Sends one request; a redirect is returned as the response. */
async function request(
  host: PageDeps['host'],
  url: string,
  signal: AbortSignal,
): Promise<EgressResponse> {
  const headers = { accept: 'text/html, application/pdf;q=0.9, text/plain;q=0.8, */*;q=0.1' }
  const timeouts = { totalMs: FAST_MS }
  try {
    return await host.http.request({
      url,
      method: 'GET',
      headers,
      maxBytes: BYTES_MAX,
      timeouts,
      signal,
    })
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    if (error.code === 'upstream_redirect' && error.response) return error.response
    throw error.code === 'upstream_redirect'
      ? tooManyRedirects()
      : new RenderError(error.code, error)
  }
}

const INFLATE = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
}

/** Decompressors by content coding: some sites compress without being asked. */
async function inflateBody(body: Buffer, headers: EgressResponse['headers']): Promise<Buffer> {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity') return body
  const work = INFLATE[encoding as keyof typeof INFLATE]
  try {
    return await work(body, { maxOutputLength: BYTES_MAX })
  } catch {
    throw new Failure(
      502,
      'content_unreadable',
      'The page is compressed in a way that is not read.',
    )
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

function assertDelivered(status: number, headers: Headers): void {
  if (status >= 200 && status < 300) return
  if (status === 404 || status === 410) {
    throw missingPage(`it answered ${status}`)
  }
  const after = retryAfterSeconds(headers)
  throw new Failure(502, 'content_unavailable', `The site answered ${status}.`, {
    upstream: { status },
    ...(after !== undefined && { retryAfterSeconds: after }),
  })
}

/**
 * Error for a page that the site does not have.
 * @param beforeScripts true if a browser may find a page in place of the notice
 */
const missingPage = (why: string, beforeScripts = false): Refusal | Failure =>
  beforeScripts
    ? new Failure(502, 'content_empty', 'There is no page before scripts have run.')
    : new Refusal('page_not_found', `The site has no such page: ${why}.`)

/** Refuses redirects to another domain or to a page that is not for sale or costs more. */
function resolveRedirect(pageRequest: PageRequest, url: string): string {
  const target = targetOf(pageRequest, url)
  if (target instanceof Failure) throw target
  return target
}

/** Returns the URL of the page to which another one redirects, or why it is not delivered. */
function targetOf({ domain, page }: PageRequest, url: string): string | Failure {
  const found = domain.page(url.split('#')[0] ?? '')
  if (typeof found !== 'string' && found.rule.price <= page.rule.price) return found.url
  const reason = typeof found === 'string' ? TARGET_REFUSALS[found] : 'which costs more'
  return redirected(`The page redirects to ${url.slice(0, SHOWN_URL_MAX)}, ${reason}.`, url)
}

const SHOWN_URL_MAX = 300

const TARGET_REFUSALS: Readonly<Record<PageRefusal, string>> = {
  malformed_url: 'which is not read',
  domain_not_registered: 'on another host',
  page_not_for_sale: 'for which the owner has set no price',
  page_denied: 'which the owner does not sell',
}

const redirected = (detail: string, location?: string): Failure =>
  new Failure(502, 'content_redirected', detail, location === undefined ? {} : { location })

const tooManyRedirects = (): Failure => redirected('The page redirects too often.')

/** Says where a page leads that the browser did not follow; returns other errors unchanged. */
function explainRedirect(pageRequest: PageRequest, error: unknown): unknown {
  if (!(error instanceof RenderError)) return error
  if (error.code === 'upstream_redirect') return tooManyRedirects()
  if (error.code !== 'content_redirected' || error.location === undefined) return error
  const target = targetOf(pageRequest, error.location)
  return target instanceof Failure ? target : error
}

async function assertAllowed({ domains }: PageDeps, url: string): Promise<void> {
  if (await domains.mayRead(url)) return
  throw new Refusal('robots_disallowed', 'The robots.txt of the site keeps the hub away from it.')
}

/** @throws Failure for a page without text, or an unreadable one */
async function articleOf(
  { page, signal }: PageRequest,
  document: Document,
  beforeScripts: boolean,
): Promise<Article> {
  try {
    const { exclude } = page.rule
    const article = await read(document, { exclude, beforeScripts }, signal)
    if (isSignIn(document, article)) {
      const detail = 'The site asks for a sign-in instead of showing the page.'
      throw new Failure(502, 'content_unavailable', detail)
    }
    if (isMissingPageNotice(article))
      throw missingPage('it says so, with status 200', beforeScripts)
    if (article.text.trim() !== '') return { ...article, url: page.url }
  } catch (error) {
    if (error instanceof ExtractionError) throw new Failure(502, error.code, error.message)
    throw error
  }
  throw new Failure(502, 'content_empty', 'There is no text on the page.')
}

/** Words below which a page with a password field is no more than that. */
const SIGN_IN_WORDS = 30
const FORM_BYTES = 262_144
const PASSWORD_FIELD = /<input\b[^<>]{0,300}\btype ?= ?["']?password/i

/** Returns true for the form that many sites show instead of a page, often with status 200. */
const isSignIn = ({ body }: Document, { word_count: words }: Article): boolean =>
  words < SIGN_IN_WORDS &&
  PASSWORD_FIELD.test(Buffer.from(body.subarray(0, FORM_BYTES)).toString('latin1'))
