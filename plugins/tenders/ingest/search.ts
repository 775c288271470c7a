import energy from '../data/energy-cpv.json' with { type: 'json' }
import { issueOf, numberOf } from '../parse/values.ts'
import { IngestFailure } from './failure.ts'

/** A notice in a search response; only its number is certain. */
export interface Hit {
  readonly number: string
  readonly ojs: string | null
  readonly version: string | null
}

export interface Page {
  readonly hits: readonly Hit[]
  /** Number of hits without a publication number, which cannot be fetched. */
  readonly unreadable: number
  readonly total: number
  readonly token: string | null
}

/** Progress of listing a day, stored after each page. */
export interface Listing {
  readonly announced: number | null
  readonly ojs: string | null
  readonly numbers: readonly string[]
  readonly unreadable?: number
  readonly tokens: readonly string[]
  /** True if all notices have arrived and the page after the last one was empty. */
  readonly complete: boolean
}

export const START: Listing = {
  announced: null,
  ojs: null,
  numbers: [],
  tokens: [],
  complete: false,
}

const FIELDS = ['publication-number', 'publication-date', 'ojs-number', 'notice-version'] as const

/** Four-digit prefixes of energy CPV codes; broad, because relevance is scored here. */
const PREFIXES = Object.keys(energy.prefixes)
  .map((prefix) => prefix.slice(0, 4))
  .filter((prefix, at, all) => all.indexOf(prefix) === at)
  .filter((prefix, _, all) => !all.some((other) => other !== prefix && prefix.startsWith(other)))
  .sort()

const ENERGY = PREFIXES.map((prefix) => `classification-cpv=${prefix}*`).join(' OR ')

/** Same text for every page, as the API requires; a wrongly ordered date would find nothing. */
export const dayQuery = (day: string): string =>
  `(${ENERGY}) AND publication-date=${day.replaceAll('-', '')} SORT BY publication-date`

/** Query for all versions of a notice, by UUID. */
export const noticeQuery = (uuid: string): string => `notice-identifier=${uuid}`

/** Body of `POST /v3/notices/search`, which refuses unknown members. */
export const searchBody = (query: string, limit: number, token?: string): string =>
  JSON.stringify({
    query,
    fields: FIELDS,
    limit,
    scope: 'ALL',
    paginationMode: 'ITERATION',
    ...(token !== undefined && { iterationNextToken: token }),
  })

/** @throws IngestFailure `refused_query` with the API's message; `bad_page` for anything else */
export function readPage(status: number, text: string): Page {
  const answer = objectOf(text)
  if (!answer) throw bad(`status ${status}, and no JSON object`)
  if (status !== 200) {
    throw new IngestFailure('refused_query', `status ${status}: ${messageOf(answer)}`)
  }
  const { notices, totalNoticeCount: total, iterationNextToken: token, timedOut } = answer
  if (timedOut === true) throw contradiction('the search has timed out and is not whole')
  if (!Array.isArray(notices)) throw bad('no list of notices')
  if (typeof total !== 'number' || !Number.isSafeInteger(total) || total < 0) {
    throw bad('no total')
  }
  if (token !== null && token !== undefined && typeof token !== 'string') {
    throw bad('the token is no text')
  }
  const hits = notices.flatMap((notice: unknown) => hitOf(notice) ?? [])
  return { hits, unreadable: notices.length - hits.length, total, token: token || null }
}

/** With a token after the last notice, the next page must be empty. @throws IngestFailure */
export function advance(listing: Listing, page: Page, most: number): Listing {
  const { announced, numbers, tokens } = listing
  if (announced !== null && page.total !== announced) {
    throw contradiction(`the total was ${announced} and is ${page.total}`)
  }
  if (page.total > most) throw contradiction(`a day of ${page.total} notices is not believed`)
  const all = [...numbers, ...page.hits.map(({ number }) => number)]
  const unreadable = (listing.unreadable ?? 0) + page.unreadable
  const came = all.length + unreadable
  const isEmpty = page.hits.length + page.unreadable === 0
  if (new Set(all).size < all.length) throw contradiction('a notice came twice')
  if (came > page.total) throw contradiction(`more than ${page.total} notices came`)
  const isWhole = came === page.total
  const complete = isWhole && (page.token === null || isEmpty)
  if (!complete && page.token === null) {
    throw contradiction(`${came} of ${page.total} notices came, and no token for more`)
  }
  if (!isWhole && isEmpty) {
    throw contradiction(`after ${came} of ${page.total} notices the page was empty`)
  }
  if (!complete && page.token !== null && tokens.includes(page.token)) {
    throw contradiction('a token came twice')
  }
  return {
    announced: page.total,
    ojs: listing.ojs ?? page.hits.find(({ ojs }) => ojs !== null)?.ojs ?? null,
    numbers: all,
    ...(unreadable > 0 && { unreadable }),
    tokens: page.token === null ? tokens : [...tokens, page.token],
    complete,
  }
}

/** Undefined without a publication number; other hits of the page are used nevertheless. */
function hitOf(notice: unknown): Hit | undefined {
  const fields = (typeof notice === 'object' && notice) || {}
  const number = numberOf(textIn(fields, 'publication-number') ?? undefined)
  if (number === undefined) return undefined
  return {
    number,
    ojs: issueOf(textIn(fields, 'ojs-number')),
    version: textIn(fields, 'notice-version'),
  }
}

/** Returns a field's text, or the first of its list; null if missing. */
function textIn(fields: object, name: string): string | null {
  const value: unknown = Object.entries(fields).find(([key]) => key === name)?.[1]
  const first: unknown = Array.isArray(value) ? value[0] : value
  if (typeof first === 'number') return String(first)
  return typeof first === 'string' ? first : null
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** `{"message":…,"error":[{"field":…,"message":…}]}`, or an `error` of another form. */
function messageOf({ message, error }: Readonly<Record<string, unknown>>): string {
  const details = error === undefined ? '' : ` ${JSON.stringify(error)}`
  return `${typeof message === 'string' ? message : 'without message'}${details}`.slice(0, 300)
}

const bad = (detail: string): IngestFailure =>
  new IngestFailure('bad_page', `not an answer of the search: ${detail}`)

const contradiction = (detail: string): IngestFailure => new IngestFailure('contradiction', detail)
