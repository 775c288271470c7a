import { EgressError, type EgressResponse, type Host, retryAfterSeconds } from 'agenthub/plugin'
import { ModelError } from './model.ts'

/** Maximum response size of a model server in bytes. */
const BYTES_MAX = 1_048_576

export type TransportDeps = Pick<Host, 'http' | 'backends'>
export type Post = (
  url: string,
  init: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | undefined
    readonly signal: AbortSignal | undefined
  },
) => Promise<EgressResponse>

/** Dependencies of a model. */
export interface ModelDeps {
  readonly post: Post
  readonly apiKey: string | undefined
}

/** Posts to listed servers and public addresses. @throws ModelError, or the signal's reason */
export const createPost =
  ({ http, backends }: TransportDeps, timeoutMs: number): Post =>
  async (url, { headers, body, signal }) => {
    const timeouts = { headersMs: timeoutMs, bodyMs: timeoutMs, totalMs: timeoutMs }
    const request = { url, method: 'POST', headers, body, signal, maxBytes: BYTES_MAX, timeouts }
    try {
      return await backends.request(request).catch((error: unknown) => {
        if (isUnlisted(error)) return http.request(request)
        throw error
      })
    } catch (error) {
      signal?.throwIfAborted()
      throw error instanceof EgressError ? errorOfEgress(error) : error
    }
  }

const isUnlisted = (error: unknown): boolean =>
  error instanceof EgressError && error.code === 'destination_not_allowed'

const TRANSIENT_CODES = new Set(['upstream_unreachable', 'upstream_error'])

const errorOfEgress = (error: EgressError): ModelError => {
  if (error.code === 'upstream_timeout') {
    return new ModelError('timeout', 'the model server took too long', undefined, error)
  }
  const kind = TRANSIENT_CODES.has(error.code) ? 'transient' : 'denied'
  return new ModelError(kind, error.message, undefined, error)
}

/** Parses the vendors' `retry-after-ms`, or `Retry-After` in milliseconds. */
export const retryAfterMs = (headers: EgressResponse['headers']): number | undefined => {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (ms >= 0) return ms
  const seconds = retryAfterSeconds(headers)
  return seconds === undefined ? undefined : seconds * 1_000
}
