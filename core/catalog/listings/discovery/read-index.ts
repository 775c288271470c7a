import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { sleep } from '../../../clock.ts'
import { EgressError } from '../../../egress/errors.ts'
import type { Egress } from '../../../egress/http.ts'
import { isJsonObject } from '../../../json.ts'
import { RANK } from '../store.ts'
import { beginTurn, type Turn } from '../time-budget.ts'
import type { UrlRules } from './canonical-url.ts'
import { cleanText } from './clean-text.ts'
import { importPage, type JudgedRow } from './import.ts'
import { type IndexPage, readPage } from './index-page.ts'
import { judgeRow } from './normalize.ts'
import { type Discovery, finishPass, openSource, stopPass } from './sources.ts'

/** An index of the shape of `/discovery/resources`. */
export interface IndexSource {
  readonly name: string
  /** Without `limit` and `offset`. */
  readonly url: string
}

export interface ReadIndexPorts extends Turn {
  readonly pool: Pool
  readonly egress: Egress
  readonly rules: UrlRules
  /** Seconds from the end of one pass to the next. @defaultValue an hour */
  readonly againSeconds?: number
  /** Waits before a page is asked for again, in ms. @defaultValue 1 s, 4 s */
  readonly retryMs?: readonly number[]
}

/** What one run did. `stopped` tells why it could not go on; `later` that its time was over. */
export type RunOutcome = 'whole' | 'partial' | 'later' | { readonly stopped: string }

/** The place of an import. */
interface Place {
  readonly offset: number
  readonly limit: number
  readonly cursor: string | null
  /** Of the last page: an index that ignores where it is to begin gives the same again. */
  readonly last: string | null
  /** Rows may have been left out. */
  readonly partial: boolean
}

const START: Place = { offset: 0, limit: 500, cursor: null, last: null, partial: false }
const LIMIT_MIN = 20
const ROWS_MAX = 1_000_000
const PAGES_MAX = 20_000
const PAGE_BYTES = 16 * 1_048_576
/** A server that wants us to wait longer is asked by the next run. */
const WAIT_MAX_MS = 20_000

/** A page that could not be had. */
class PageError extends Error {
  override readonly name = 'PageError'
  readonly afterSeconds: number

  constructor(message: string, afterSeconds = 0) {
    super(message)
    this.afterSeconds = afterSeconds
  }
}

/**
 * Reads an index from where the last run stopped. Each page is committed with its place, so that
 * a run may be killed at any time; pages that overlap or come twice do no harm.
 */
export async function readIndex(
  ports: ReadIndexPorts,
  { name, url }: IndexSource,
): Promise<RunOutcome> {
  const { pool, againSeconds = 3_600 } = ports
  const discovery = await openSource(pool, name)
  const isOver = beginTurn(ports, 200_000)
  let place: Place = { ...START, ...discovery.place }
  let { pages, rows } = discovery
  try {
    for (;;) {
      const { page, limit } = await pageAt(ports, url, place)
      const next = follow({ ...place, limit }, page)
      const judged = page.rows.map((row) => judgedRow(row, ports.rules))
      await importPage(pool, name, RANK.index, judged, next ?? place)
      pages += 1
      rows += page.rows.length
      if (!next) return await end(pool, discovery, !place.partial && !page.partial, againSeconds)
      if (rows >= ROWS_MAX || pages >= PAGES_MAX) {
        return await end(pool, discovery, false, againSeconds)
      }
      place = next
      if (isOver()) return 'later'
    }
  } catch (error) {
    if (!(error instanceof PageError)) throw error
    await stopPass(pool, name, error.message, error.afterSeconds)
    return { stopped: error.message }
  }
}

async function end(pool: Pool, discovery: Discovery, whole: boolean, againSeconds: number) {
  await finishPass(pool, discovery, { whole, againSeconds })
  return whole ? 'whole' : 'partial'
}

/**
 * The place after a page; undefined after the last one.
 * @throws PageError when the page is the one before it once more
 */
function follow(place: Place, page: IndexPage): Place | undefined {
  const last = createHash('sha256').update(JSON.stringify(page.rows)).digest('base64')
  if (page.rows.length > 0 && last === place.last) {
    throw new PageError('It gives the same page again, whatever is asked for.')
  }
  const partial = place.partial || page.partial
  const { cursor } = page
  if (cursor !== undefined) {
    if (cursor === place.cursor) throw new PageError('It gives the same cursor again.')
    return { ...place, cursor, last, partial }
  }
  if (page.rows.length === 0 || place.cursor !== null) return undefined
  // Servers round an offset down to a multiple of their limit: rows come twice, none is left out.
  const begin = page.offset === undefined ? place.offset : Math.min(page.offset, place.offset)
  const offset = begin + page.rows.length
  if (offset <= place.offset) throw new PageError('It does not get past the rows it has given.')
  if (page.total !== undefined && offset >= page.total) return undefined
  if (page.total === undefined && page.rows.length < (page.limit ?? place.limit)) return undefined
  return { ...place, offset, last, partial }
}

/** Asks for a page, again when it did not come, and for fewer rows when it was too much. */
async function pageAt(
  ports: ReadIndexPorts,
  url: string,
  place: Place,
): Promise<{ readonly page: IndexPage; readonly limit: number }> {
  const waits = [...(ports.retryMs ?? [1_000, 4_000])]
  let { limit } = place
  for (;;) {
    try {
      return { page: await ask(ports.egress, pageUrl(url, { ...place, limit })), limit }
    } catch (error) {
      const wait = waits.shift()
      if (!(error instanceof PageError) || wait === undefined) throw error
      const ms = Math.max(wait, error.afterSeconds * 1_000)
      if (ms > WAIT_MAX_MS) throw error
      limit = Math.max(LIMIT_MIN, limit >> 1)
      await sleep(ms)
    }
  }
}

function pageUrl(url: string, { offset, limit, cursor }: Place): string {
  const full = new URL(url)
  full.searchParams.set('limit', String(limit))
  if (cursor !== null) full.searchParams.set('cursor', cursor)
  else full.searchParams.set('offset', String(offset))
  return full.href
}

async function ask(egress: Egress, url: string): Promise<IndexPage> {
  const response = await egress
    .request({
      url,
      method: 'GET',
      headers: { accept: 'application/json' },
      maxBytes: PAGE_BYTES,
      timeouts: { headersMs: 20_000, bodyMs: 10_000, totalMs: 60_000 },
    })
    .catch((error: unknown) => {
      if (error instanceof EgressError) throw new PageError(error.message)
      throw error
    })
  const { status, headers, body } = response
  if (status === 429 || status === 503) {
    throw new PageError(`It answered ${status}.`, retryAfter(headers['retry-after']))
  }
  if (status !== 200) throw new PageError(`It answered ${status}.`)
  const page = readPage(parsed(body))
  if (!page) throw new PageError('It answered something else than a page of an index.')
  return page
}

/** Seconds; a date, or anything else, is half a minute. */
function retryAfter(value: string | string[] | undefined): number {
  const text = Array.isArray(value) ? value[0] : value
  if (text === undefined) return 0
  return /^\d{1,5}$/.test(text) ? Number(text) : 30
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function judgedRow(raw: unknown, rules: UrlRules): JudgedRow {
  const judged = judgeRow(raw, rules)
  if ('candidate' in judged) {
    const { method, url } = judged.candidate
    return { key: `${method} ${url}`, raw, judged }
  }
  return { key: keyOf(raw), raw, judged }
}

/** What a refused row is called: its resource, as it was named; of nameless ones their content. */
function keyOf(raw: unknown): string {
  const named = isJsonObject(raw) ? (raw['resource'] ?? raw['url']) : undefined
  const text = cleanText(isJsonObject(named) ? named['url'] : named, 2_000)
  if (text !== '') return `refused ${text}`
  return `refused #${createHash('sha256')
    .update(JSON.stringify(raw) ?? '')
    .digest('hex')}`
}
