import type { EgressCode } from '../egress/errors.ts'

type OwnCode =
  | 'content_redirected'
  | 'render_limit_exceeded'
  | 'render_failed'
  | 'render_unavailable'

/** Error messages by code: those of any egress request, and of rendering. */
const TEXT = {
  content_redirected: 'The page redirects to an address that is not followed.',
  render_limit_exceeded: 'The page exceeds the time or memory limit for rendering.',
  render_failed: 'The page could not be rendered.',
  render_unavailable: 'No browser is available to render the page.',
  validation_failed: 'The page cannot be requested in this form.',
  destination_not_allowed: 'The hub connects only to hosts whose addresses are all public.',
  upstream_unreachable: 'The host of the page could not be reached.',
  upstream_timeout: 'The host of the page did not respond in time.',
  upstream_tls: 'The host of the page has no valid certificate for its name.',
  upstream_too_large: 'The page exceeds the maximum size.',
  upstream_redirect: 'The page redirects too often.',
  upstream_error: 'The host of the page sent an invalid response.',
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
  /** Target of a redirect that was not followed, if known. */
  readonly location: string | undefined

  constructor(code: RenderCode, cause?: unknown, location?: string) {
    super(TEXT[code], { cause })
    this.code = code
    this.location = location
  }
}
