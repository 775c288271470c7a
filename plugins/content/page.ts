import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import {
  type Domains,
  EgressError,
  type EgressResponse,
  Failure,
  type Host,
  type PricedPage,
  Refusal,
  RenderError,
  type SellingDomain,
} from 'agenthub/plugin'
import { type Article, type Document, ExtractionError } from './extract/article.ts'
import { read } from './extract/index.ts'

/** A page that was read, and how. */
export interface Read {
  readonly article: Article
  readonly way: 'browser' | 'fast'
}

export interface PagePorts {
  readonly host: Pick<Host, 'http' | 'browser' | 'log'>
  readonly domains: Pick<Domains, 'mayRead'>
}

/** A page that somebody asked for. */
export interface Wanted {
  readonly domain: SellingDomain
  readonly page: PricedPage
  readonly signal: AbortSignal
}

const RENDER_MS = 30_000
const FAST_MS = 10_000
const BYTES_MAX = 8_388_608
const HOPS_MAX = 5

/**
 * Gets a page of an owner's and reads it: fast, where the owner has chosen so and it gives a text,
 * else in a browser.
 * @throws Refusal `robots_disallowed`; RenderError, Failure: whatever it is, the caller is refunded
 */
export async function readPage(ports: PagePorts, wanted: Wanted): Promise<Read> {
  const { rule, url } = wanted.page
  await assertAllowed(ports, url)
  if (!rule.fast) return rendered(ports, wanted)
  try {
    return await fetched(ports, wanted)
  } catch (error) {
    if (!isForBrowser(error)) throw error
    ports.host.log('a page needs the browser', { url, code: error.code })
    return rendered(ports, wanted)
  }
}

/** Whether a browser may get a text where there was none without. */
const isForBrowser = (error: unknown): error is Failure =>
  error instanceof Failure && error.code === 'content_empty'

async function rendered(ports: PagePorts, wanted: Wanted): Promise<Read> {
  const { page, signal } = wanted
  const { url, status, headers, body, contentType } = await ports.host.browser.render({
    url: page.url,
    waitFor: page.rule.waitFor ?? undefined,
    signal,
    deadlineMs: RENDER_MS,
    maxBytes: BYTES_MAX,
  })
  assertDelivered(status, headers)
  await assertAllowed(ports, follow(wanted, url))
  return { article: await articleOf(wanted, { body, contentType, url }), way: 'browser' }
}

async function fetched(ports: PagePorts, wanted: Wanted): Promise<Read> {
  let { url } = wanted.page
  for (let hops = 0; hops <= HOPS_MAX; hops += 1) {
    const { status, headers, body } = await request(ports.host, url, wanted.signal)
    const { location } = headers
    if (status >= 300 && status < 400 && typeof location === 'string') {
      url = follow(wanted, URL.parse(location, url)?.href ?? '')
      await assertAllowed(ports, url)
      continue
    }
    assertDelivered(status, headers)
    const [contentType] = [headers['content-type']].flat()
    const document = { body: await inflated(body, headers), contentType, url }
    return { article: await articleOf(wanted, document), way: 'fast' }
  }
  throw new RenderError('content_redirected')
}

/** One request; a redirect is an answer here. */
async function request(
  host: PagePorts['host'],
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
    const code = error.code === 'upstream_redirect' ? 'content_redirected' : error.code
    throw new RenderError(code, error)
  }
}

const INFLATE = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
}

/** Some sites compress what nobody asked them to. */
async function inflated(body: Buffer, headers: EgressResponse['headers']): Promise<Buffer> {
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
  const retryAfterSeconds = retryAfter(headers)
  throw new Failure(502, 'content_unavailable', `The site answered ${status}.`, {
    upstream: { status },
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

const RETRY_MAX_SECONDS = 86_400

/** `Retry-After` in seconds; one that names a date is taken by the clock of the site itself. */
function retryAfter({ 'retry-after': after, date }: Headers): number | undefined {
  const text = String(after)
  const seconds = /^\d+$/.test(text) ? Number(text) : untilDate(text, String(date))
  return seconds >= 0 ? Math.min(seconds, RETRY_MAX_SECONDS) : undefined
}

/** NaN where one of them is no date. */
const untilDate = (date: string, now: string): number =>
  (Date.parse(date) - Date.parse(now)) / 1_000

/**
 * A page may lead to another one of the same domain, but neither to one that is not sold nor to
 * one that costs more: that one has to be asked for itself.
 */
function follow({ domain, page }: Wanted, url: string): string {
  const found = domain.page(url.split('#')[0] ?? '')
  if (typeof found !== 'string' && found.rule.price <= page.rule.price) return found.url
  throw new RenderError('content_redirected')
}

async function assertAllowed({ domains }: PagePorts, url: string): Promise<void> {
  if (await domains.mayRead(url)) return
  throw new Refusal('robots_disallowed', 'The robots.txt of the site keeps the hub away from it.')
}

/** @throws Failure for a page without a text, and for one that cannot be read */
async function articleOf({ page, signal }: Wanted, document: Document): Promise<Article> {
  try {
    const article = await read(document, { exclude: page.rule.exclude }, signal)
    if (article.text.trim() !== '') return { ...article, url: page.url }
  } catch (error) {
    if (error instanceof ExtractionError) throw new Failure(502, error.code, error.message)
    throw error
  }
  throw new Failure(502, 'content_empty', 'There is no text on the page.')
}
