import { HTTPFacilitatorClient } from '@x402/core/server'
import type { Facilitator } from '../facilitator.ts'

export type FacilitatorOperation = 'verify' | 'settle' | 'supported'

export interface HttpFacilitatorOptions {
  /** Its base URL, to which `/verify`, `/settle` and `/supported` are added. */
  readonly url: string
  /** For each request, headers and body. @defaultValue 30000 */
  readonly timeoutMs?: number
  /** Headers that authenticate one request, made anew each time. */
  readonly authHeaders?: (operation: FacilitatorOperation) => Promise<Record<string, string>>
}

/**
 * A facilitator that somebody else runs (CDP, PayAI, x402.org …).
 * A `settle` that throws says nothing: the payment may have been made.
 * @throws TypeError for a URL that is neither https nor on this machine: payments are not shown
 *   to the network.
 */
export function httpFacilitator(options: HttpFacilitatorOptions): Facilitator {
  const { url, timeoutMs = 30_000, authHeaders } = options
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !['127.0.0.1', '[::1]', 'localhost'].includes(hostname)) {
    throw new TypeError(`the URL of the facilitator must start with https: ${url}`)
  }
  return new HTTPFacilitatorClient({
    url: url.replace(/\/+$/, ''),
    timeoutMs,
    ...(authHeaders === undefined ? {} : { createAuthHeaders: () => allHeaders(authHeaders) }),
  })
}

async function allHeaders(
  of: (operation: FacilitatorOperation) => Promise<Record<string, string>>,
) {
  const [verify, settle, supported] = await Promise.all([
    of('verify'),
    of('settle'),
    of('supported'),
  ])
  return { verify, settle, supported }
}
