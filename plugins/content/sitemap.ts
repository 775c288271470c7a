import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { EgressError, type Host, type SellingDomain } from 'agenthub/plugin'
import { Parser } from 'htmlparser2'

/** A page that a sitemap names. */
export interface SitemapPage {
  readonly url: string
  /** ISO 8601, as far as it is known. */
  readonly modified: string | null
}

/** Pages of all sitemaps of a site, and why some may be missing. */
export interface SitemapReading {
  readonly pages: readonly SitemapPage[]
  readonly problem: string | null
}

interface SitemapFile {
  readonly pages: readonly SitemapPage[]
  /** Further sitemaps, if the file is an index. */
  readonly sitemaps: readonly string[]
}

const FILES_MAX = 20
const PAGES_MAX = 10_000
/** Lines read of robots.txt. */
const LINES_MAX = 10_000
const BYTES_MAX = 8_388_608
const URL_MAX = 2_048
const FILE_MS = 5_000
const TOTAL_MS = 30_000

/**
 * Reads the sitemaps that robots.txt names, otherwise /sitemap.xml, and those of their indexes.
 * Other hosts are not asked. An index within an index is not read.
 */
export async function readSitemaps(
  http: Host['http'],
  { origin, host }: Pick<SellingDomain, 'origin' | 'host'>,
): Promise<SitemapReading> {
  const ends = AbortSignal.timeout(TOTAL_MS)
  const pages = new Map<string, SitemapPage>()
  const found = await sitemapsInRobots(http, origin, ends)
  const waiting = (found.length > 0 ? found : [`${origin}/sitemap.xml`]).map((url) => ({
    url,
    isNested: false,
  }))
  const seen = new Set<string>()
  let problem: string | null = null
  for (const { url, isNested } of waiting) {
    if (seen.has(url) || !isOfHost(url, host)) continue
    if (seen.size >= FILES_MAX) return toReading(pages, 'The site has too many sitemaps.')
    seen.add(url)
    const file = await readSitemap(http, url, ends)
    if (typeof file === 'string') {
      problem ??= file
      continue
    }
    if (!isNested) waiting.push(...file.sitemaps.map((each) => ({ url: each, isNested: true })))
    for (const { url: named, modified } of file.pages) {
      const page = isOfHost(named, host) ? URL.parse(named)?.href.split('#')[0] : undefined
      if (page !== undefined && page.length <= URL_MAX) pages.set(page, { url: page, modified })
    }
    if (pages.size > PAGES_MAX) return toReading(pages, 'The sitemaps have too many pages.')
  }
  return toReading(pages, problem)
}

const toReading = (
  pages: ReadonlyMap<string, SitemapPage>,
  problem: string | null,
): SitemapReading => ({ pages: [...pages.values()].slice(0, PAGES_MAX), problem })

const isOfHost = (url: string, host: string): boolean => {
  const { hostname, port, protocol = '' } = URL.parse(url) ?? {}
  return url.length <= URL_MAX && hostname === host && port === '' && /^https?:$/.test(protocol)
}

async function sitemapsInRobots(
  http: Host['http'],
  origin: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const body = await download(http, `${origin}/robots.txt`, signal)
  if (typeof body === 'string') return []
  const lines = body.toString('utf8').split('\n', LINES_MAX)
  return lines.flatMap((line) => {
    const [name = '', ...rest] = line.split(':')
    return name.trim().toLowerCase() === 'sitemap' ? [rest.join(':').trim()] : []
  })
}

async function readSitemap(
  http: Host['http'],
  url: string,
  signal: AbortSignal,
): Promise<SitemapFile | string> {
  const body = await download(http, url, signal)
  if (typeof body === 'string') return body
  const isCompressed = body[0] === 0x1f && body[1] === 0x8b
  if (!isCompressed) return parseSitemap(body.toString('utf8'))
  try {
    const whole = await promisify(gunzip)(body, { maxOutputLength: BYTES_MAX })
    return parseSitemap(whole.toString('utf8'))
  } catch {
    return 'A sitemap is damaged or too large.'
  }
}

/** Parses a sitemap, an index of sitemaps, or a list of URLs as text. */
function parseSitemap(text: string): SitemapFile {
  if (!text.trimStart().startsWith('<')) {
    const urls = text.split('\n', PAGES_MAX + 1).map((line) => line.trim())
    return { pages: urls.map((url) => ({ url, modified: null })), sitemaps: [] }
  }
  const pages: SitemapPage[] = []
  const sitemaps: string[] = []
  let fields: Record<string, string> = {}
  let path: string[] = []
  const parser = new Parser(
    {
      onopentag: (name) => {
        path = [...path.slice(-2), name]
        if (name === 'url' || name === 'sitemap') fields = {}
        else fields[name] = ''
      },
      ontext: (part) => {
        const [parent, name = ''] = path.slice(-2)
        if (parent === 'url' || parent === 'sitemap') fields[name] = `${fields[name] ?? ''}${part}`
      },
      onclosetag: (name) => {
        path = name === 'url' || name === 'sitemap' ? [] : path.slice(0, -1)
        const url = (fields['loc'] ?? '').trim()
        const date = new Date((fields['lastmod'] ?? '').trim())
        const modified = Number.isNaN(date.getTime()) ? null : date.toISOString()
        if (name === 'url' && pages.length <= PAGES_MAX) pages.push({ url, modified })
        else if (name === 'sitemap' && sitemaps.length <= FILES_MAX) sitemaps.push(url)
      },
    },
    { xmlMode: true },
  )
  parser.end(text)
  return { pages, sitemaps }
}

/** @returns the body, or a sentence that says why there is none */
async function download(
  http: Host['http'],
  url: string,
  signal: AbortSignal,
): Promise<Buffer | string> {
  try {
    const { status, body } = await http.request({
      url,
      method: 'GET',
      headers: { accept: 'application/xml, text/xml, text/plain;q=0.9, */*;q=0.1' },
      maxBytes: BYTES_MAX,
      timeouts: { totalMs: FILE_MS },
      signal,
    })
    return status === 200 ? body : `A sitemap was answered with ${status}.`
  } catch (error) {
    if (signal.aborted) return 'The sitemaps took too long.'
    if (error instanceof EgressError) return `A sitemap could not be read: ${error.code}.`
    throw error
  }
}
