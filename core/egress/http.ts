import type { Readable } from 'node:stream'

/** Supported methods; TRACE, CONNECT and unknown ones are refused. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** Timeouts in milliseconds; each has a default. */
export interface EgressTimeouts {
  /** From the end of the request to the end of the response headers. Default 20,000. */
  readonly headersMs?: number
  /** Between two chunks of the body. Default 10,000. */
  readonly bodyMs?: number
  /** In total, from DNS lookup to the last byte. Default 30,000. */
  readonly totalMs?: number
}

export interface EgressRequest {
  readonly url: string
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** Maximum size of the response body. Default 1 MiB, at most 32 MiB. */
  readonly maxBytes?: number | undefined
  readonly timeouts?: EgressTimeouts | undefined
  /** True to stream a response larger than `maxBytes`; `at-once` to stream every one. */
  readonly streams?: boolean | 'at-once' | undefined
}

export interface EgressResponse {
  readonly status: number
  /** By lower-case name; a repeated header has a list. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Bytes as sent, never decompressed. */
  readonly body: Buffer
  /** Streamed response: the whole body, including the bytes in `body`. Read or destroy it. */
  readonly stream?: Readable
}

/** Client for foreign hosts. Every request that leaves the hub goes through one of these. */
export interface Egress {
  /** Sends one request, without redirects and retries. @throws EgressError */
  request(request: EgressRequest): Promise<EgressResponse>
  /** Closes idle connections and waits for pending requests. */
  close(): Promise<void>
}
