import { hash } from 'node:crypto'
import type { Pool } from 'pg'
import { sleep } from '../../../clock.ts'
import { EgressError } from '../../../egress/errors.ts'
import type { Egress } from '../../../egress/http.ts'
import type { TargetRules } from '../../../egress/target.ts'
import { isJsonObject, tryParseJson } from '../../../json.ts'
import { retryAfterSeconds } from '../../../retry-after.ts'
import { cleanText } from '../../../text.ts'
import { RANK } from '../store.ts'
import { startTimeBudget, type TimeBudget } from '../time-budget.ts'
import { importPage, type NormalizedRow } from './import.ts'
import { type IndexPage, readPage } from './index-page.ts'
import { type NormalizationResult, normalizeRow } from './normalize.ts'
import { type DiscoverySource, finishPass, openSource, stopPass } from './sources.ts'

/** Index with the API of `/discovery/resources`. */
export interface IndexSource {
  readonly name: string
  /** Without `limit` and `offset`. */
  readonly url: string
}

export interface ReadIndexDeps extends TimeBudget {
  readonly pool: Pool
  readonly egress: Egress
  readonly rules: TargetRules
  /** Seconds from the end of one pass to the next. @defaultValue an hour */
  readonly againSeconds?: number
  /** Waits before a failed page is requested again, in ms. @defaultValue 1 s, 4 s */
  readonly retryMs?: readonly number[]
}

/** Result of one run: `later` if time was up; `stopped` with the reason of a failure. */
export type IndexRunOutcome = 'whole' | 'partial' | 'later' | { readonly stopped: string }

/** Progress of a pass over an index. */
interface IndexPlace {
  readonly offset: number
  readonly limit: number
  readonly cursor: string | null
  /** Hash of the last page, to detect an index that ignores the offset. */
  readonly last: string | null
  /** True if rows may have been skipped. */
  readonly partial: boolean
}

const START: IndexPlace = { offset: 0, limit: 500, cursor: null, last: null, partial: false }
const LIMIT_MIN = 20
const ROWS_MAX = 1_000_000
const PAGES_MAX = 20_000
const PAGE_BYTES = 16 * 1_048_576
/** If a server asks for a longer wait, the next run continues. */
const WAIT_MAX_MS = 20_000

/** A page could not be read. */
class PageError extends Error {
  override readonly name = 'PageError'
  readonly afterSeconds: number

  constructor(message: string, afterSeconds = 0) {
    super(message)
    this.afterSeconds = afterSeconds
  }
}

/**
 * Reads an index from where the last run stopped. Each page is committed with its place, so that a
 * run may be killed at any time. Overlapping and repeated pages are harmless.
 */
export async function readIndex(
  deps: ReadIndexDeps,
  { name, url }: IndexSource,
): Promise<IndexRunOutcome> {
  const { pool, againSeconds = 3_600 } = deps
  const discovery = await openSource(pool, name)
  const isTimeUp = startTimeBudget(deps, 200_000)
  let place: IndexPlace = { ...START, ...discovery.place }
  let { pages, rows } = discovery
  try {
    for (;;) {
      const { page, limit } = await fetchPage(deps, url, place)
      const next = nextPlace({ ...place, limit }, page)
      const pageRows = page.rows.map((row) => normalizedRow(row, deps.rules))
      await importPage(pool, name, RANK.index, pageRows, next ?? place)
      pages += 1
      rows += page.rows.length
      if (!next)
        return await endPass(pool, discovery, !place.partial && !page.partial, againSeconds)
      if (rows >= ROWS_MAX || pages >= PAGES_MAX) {
        return await endPass(pool, discovery, false, againSeconds)
      }
      place = next
      if (isTimeUp()) return 'later'
    }
  } catch (error) {
    if (!(error instanceof PageError)) throw error
    await stopPass(pool, name, error.message, { afterSeconds: error.afterSeconds })
    return { stopped: error.message }
  }
}

async function endPass(
  pool: Pool,
  discovery: DiscoverySource,
  whole: boolean,
  againSeconds: number,
) {
  await finishPass(pool, discovery, { whole, againSeconds })
  return whole ? 'whole' : 'partial'
}

/** Returns the place after a page, undefined after the last. @throws PageError if it is stuck */
function nextPlace(place: IndexPlace, page: IndexPage): IndexPlace | undefined {
  const last = hash('sha256', JSON.stringify(page.rows), 'base64')
  if (page.rows.length > 0 && last === place.last) {
    throw new PageError('The index returns the same page for every offset.')
  }
  const partial = place.partial || page.partial
  const { cursor } = page
  if (cursor !== undefined) {
    if (cursor === place.cursor) throw new PageError('The index returns the same cursor again.')
    return { ...place, cursor, last, partial }
  }
  if (page.rows.length === 0 || place.cursor !== null) return undefined
  // Servers round the offset down to a multiple of their limit: rows may repeat, none is skipped.
  const begin = page.offset === undefined ? place.offset : Math.min(page.offset, place.offset)
  const offset = begin + page.rows.length
  if (offset <= place.offset)
    throw new PageError('The index does not advance past the rows already read.')
  if (page.total !== undefined && offset >= page.total) return undefined
  if (page.total === undefined && page.rows.length < (page.limit ?? place.limit)) return undefined
  return { ...place, offset, last, partial }
}

/** Requests a page; after a failure again, with half the rows. */
async function fetchPage(
  deps: ReadIndexDeps,
  url: string,
  place: IndexPlace,
): Promise<{ readonly page: IndexPage; readonly limit: number }> {
  const waits = [...(deps.retryMs ?? [1_000, 4_000])]
  let { limit } = place
  for (;;) {
    try {
      return { page: await requestPage(deps.egress, pageUrl(url, { ...place, limit })), limit }
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

function pageUrl(url: string, { offset, limit, cursor }: IndexPlace): string {
  const full = new URL(url)
  full.searchParams.set('limit', String(limit))
  if (cursor !== null) full.searchParams.set('cursor', cursor)
  else full.searchParams.set('offset', String(offset))
  return full.href
}

async function requestPage(egress: Egress, url: string): Promise<IndexPage> {
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
    throw new PageError(`The index returned status ${status}.`, retryAfterSeconds(headers))
  }
  if (status !== 200) throw new PageError(`The index returned status ${status}.`)
  const page = readPage(tryParseJson(body.toString()))
  if (!page) throw new PageError('The response is not a page of an index.')
  return page
}

function normalizedRow(raw: unknown, rules: TargetRules): NormalizedRow {
  const result = normalizeSafely(raw, rules)
  if ('candidate' in result) {
    const { method, url } = result.candidate
    return { key: `${method} ${url}`, raw, result }
  }
  return { key: refusedKey(raw), raw, result }
}

/** A row that no check foresaw is refused alone. */
function normalizeSafely(raw: unknown, rules: TargetRules): NormalizationResult {
  try {
    return normalizeRow(raw, rules)
  } catch {
    return { reason: 'unreadable' }
  }
}

/** Returns the key of a refused row: its resource, or a hash of its content if it names none. */
function refusedKey(raw: unknown): string {
  const named = isJsonObject(raw) ? (raw['resource'] ?? raw['url']) : undefined
  const text = cleanText(isJsonObject(named) ? named['url'] : named, 2_000)
  if (text !== '') return `refused ${text}`
  return `refused #${hash('sha256', JSON.stringify(raw) ?? '', 'hex')}`
}
