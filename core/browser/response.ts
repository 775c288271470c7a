import type { Protocol } from 'puppeteer-core'
import type { RenderCode } from '../plugin/render-error.ts'

/** Response to a document request. */
export interface DocumentResponse {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string | undefined
  /** True if a browser displays it; other types are downloaded unchanged. */
  readonly isHtml: boolean
  /** Declared Content-Length; 0 if unknown. */
  readonly length: number
}

/** Statuses without content: a browser stays on the previous page. */
const NO_CONTENT_STATUSES: readonly number[] = [204, 205, 304]

/** Creates a response with lower-case header names; repeated headers are joined by commas. */
export function toDocumentResponse(
  url: string,
  status: number,
  entries: readonly Protocol.Fetch.HeaderEntry[],
): DocumentResponse {
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
    isHtml: isShown && !NO_CONTENT_STATUSES.includes(status),
    length: Number(headers['content-length'] ?? 0) || 0,
  }
}

const isHtml = (contentType = ''): boolean =>
  /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(contentType)

const REDIRECT_STATUSES: readonly number[] = [301, 302, 303, 307, 308]

export const isRedirect = ({ status, headers }: DocumentResponse): boolean =>
  REDIRECT_STATUSES.includes(status) && headers['location'] !== undefined

/** Error codes by Chromium's network error names (net/base/net_error_list.h). */
const NET_ERROR_CODES: readonly (readonly [RegExp, RenderCode])[] = [
  [/CERT|SSL/, 'upstream_tls'],
  [/TIMED_OUT/, 'upstream_timeout'],
  [/TOO_BIG/, 'upstream_too_large'],
  [/TOO_MANY_REDIRECTS/, 'upstream_redirect'],
  [/UNSAFE_REDIRECT|BLOCKED_BY_CLIENT/, 'content_redirected'],
  [/INVALID|CONTENT_|RESPONSE_HEADERS|HTTP2|DECODING/, 'upstream_error'],
  [/CONNECTION|TUNNEL|EMPTY_RESPONSE|NAME_NOT|ADDRESS|PROXY/, 'upstream_unreachable'],
]

/** Maps a failed navigation, such as `net::ERR_CERT_DATE_INVALID`, to an error code. */
export const renderCodeOf = (text: string): RenderCode =>
  NET_ERROR_CODES.find(([pattern]) => pattern.test(text))?.[1] ?? 'render_failed'
