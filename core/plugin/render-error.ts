import type { EgressCode } from '../egress/errors.ts'

type OwnCode =
  | 'content_redirected'
  | 'render_limit_exceeded'
  | 'render_failed'
  | 'render_unavailable'

/** Error messages by code: those of any egress request, and of rendering. */
const TEXT = {
  content_redirected: 'The page leads away from the host that was asked.',
  render_limit_exceeded: 'The page takes more time or memory than a page may.',
  render_failed: 'The page could not be rendered.',
  render_unavailable: 'No browser is free to render the page.',
  validation_failed: 'The page cannot be asked for as it is.',
  destination_not_allowed:
    'The hub does not connect there: only to names that resolve to public addresses alone.',
  upstream_unreachable: 'The host of the page could not be reached.',
  upstream_timeout: 'The host of the page did not answer in time.',
  upstream_tls: 'The host of the page has no valid certificate for its name.',
  upstream_too_large: 'The page is larger than a page may be.',
  upstream_redirect: 'The host of the page redirects without end.',
  upstream_error: 'The host of the page did not answer properly.',
} as const satisfies Readonly<Record<EgressCode | OwnCode, string>>

/** Error codes, all of them in core/errors.ts. */
export type RenderCode = keyof typeof TEXT

/**
 * Page that was not delivered. The message is safe to show and does not vary within a code; `cause`
 * has the details, for the log only.
 */
export class RenderError extends Error {
  override readonly name = 'RenderError'
  readonly code: RenderCode

  constructor(code: RenderCode, cause?: unknown) {
    super(TEXT[code], { cause })
    this.code = code
  }
}
