import type { Protocol } from 'puppeteer-core'
import type { RenderCode } from '../plugin/render-error.ts'

/** How a document was answered. */
export interface Answer {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string | undefined
  /** Whether a browser shows it; anything else is taken as it is. */
  readonly isHtml: boolean
  /** As far as it was said. */
  readonly length: number
}

/** A browser shows nothing for these, and stays where it was. */
const EMPTY: readonly number[] = [204, 205, 304]

/** The answer, its headers by lower-case name; a name that came twice is joined by commas. */
export function answerOf(
  url: string,
  status: number,
  entries: readonly Protocol.Fetch.HeaderEntry[],
): Answer {
  const headers: Record<string, string> = {}
  for (const { name, value } of entries) {
    const key = name.toLowerCase()
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value
  }
  const { 'content-type': contentType, 'content-disposition': disposition = '' } = headers
  const isShown = isHtml(contentType) && !/^\s*attachment/i.test(disposition)
  return {
    url,
    status,
    headers,
    contentType,
    isHtml: isShown && !EMPTY.includes(status),
    length: Number(headers['content-length'] ?? 0) || 0,
  }
}

const isHtml = (contentType = ''): boolean =>
  /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(contentType)

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

export const isRedirect = ({ status, headers }: Answer): boolean =>
  REDIRECTS.includes(status) && headers['location'] !== undefined

/** What Chromium's name of a network error means (its net/base/net_error_list.h). */
const NET: readonly (readonly [RegExp, RenderCode])[] = [
  [/CERT|SSL/, 'upstream_tls'],
  [/TIMED_OUT/, 'upstream_timeout'],
  [/TOO_BIG/, 'upstream_too_large'],
  [/TOO_MANY_REDIRECTS/, 'upstream_redirect'],
  [/UNSAFE_REDIRECT|BLOCKED_BY_CLIENT/, 'content_redirected'],
  [/INVALID|CONTENT_|RESPONSE_HEADERS|HTTP2|DECODING/, 'upstream_error'],
  [/CONNECTION|TUNNEL|EMPTY_RESPONSE|NAME_NOT|ADDRESS|PROXY/, 'upstream_unreachable'],
]

/** The code of a navigation that failed, as in `net::ERR_CERT_DATE_INVALID`. */
export const faultOfNet = (text: string): RenderCode =>
  NET.find(([pattern]) => pattern.test(text))?.[1] ?? 'render_failed'
