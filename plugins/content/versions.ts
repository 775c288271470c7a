import { hash } from 'node:crypto'
import type { Article } from './extract/index.ts'

/** Version of a page: equal tags mean equal articles. */
export interface PageVersion {
  readonly etag: string
  /** When the hub first read the page in this version, as far as the cache knows. */
  readonly changedAt: Date
}

/** Version that a caller already has. The tag takes precedence (RFC 9110 §13.2.2). */
export interface Condition {
  readonly etags: readonly string[]
  /** Milliseconds since 1970, by which a version counts without a tag. */
  readonly since: number
  readonly isDate: boolean
  /** True if HTTP headers state it: the response is then 304. */
  readonly isHttp: boolean
}

const TAG_LENGTH = 27

export const tagOf = (article: Article): string =>
  hash('sha256', JSON.stringify(article), 'base64url').slice(0, TAG_LENGTH)

const ofTags = (etags: readonly string[], isHttp: boolean): Condition => ({
  etags,
  since: Number.NaN,
  isDate: false,
  isHttp,
})

const ofDate = (date: string, isHttp: boolean): Condition => ({
  etags: [],
  since: Date.parse(date),
  isDate: true,
  isHttp,
})

/** Returns the condition of a request: of its input, otherwise of its headers. */
export function conditionOf(
  { etag, unchanged_since: since }: { readonly etag?: string; readonly unchanged_since?: string },
  headers: Readonly<Record<string, string>> = {},
): Condition | undefined {
  if (etag !== undefined) return ofTags([etag], false)
  if (since !== undefined) return ofDate(since, false)
  const { 'if-none-match': match, 'if-modified-since': date } = headers
  if (match !== undefined) {
    const etags = match.split(',').map((tag) => tag.trim().replace(/^W\//, '').slice(1, -1))
    return ofTags(etags, true)
  }
  if (date !== undefined) return ofDate(date, true)
  return undefined
}

/** Returns true if the caller already has this version. Dates have whole seconds. */
export const isUnchanged = (
  { etag, changedAt }: PageVersion,
  { etags, since, isDate }: Condition,
): boolean =>
  isDate ? Math.floor(changedAt.getTime() / 1_000) * 1_000 <= since : etags.includes(etag)
