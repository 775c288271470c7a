import type { Egress } from '../egress/http.ts'
import type { Micros } from '../money.ts'
import type { Deprecation } from './deprecation.ts'

/** HTTP APIs that their owners list without code. Exported by plugin.ts. */

/** One endpoint of an upstream: what is sold, and what is asked for it. */
export interface UpstreamEndpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the slug, with `{name}` for what callers put there. */
  readonly path: string
  /** Below the base URL, with the same names. */
  readonly upstreamPath: string
  readonly summary: string
  readonly price: Micros
  /** JSON Schema of an object, and of an answer. */
  readonly input: Readonly<Record<string, unknown>>
  readonly output: Readonly<Record<string, unknown>> | null
  /** Members of the input that go into the query; of a GET or DELETE it is all of them. */
  readonly query: readonly string[]
  /** How the rest of the input is sent. */
  readonly body: 'none' | 'json' | 'form'
  /** Statuses of an answer that is delivered and charged. */
  readonly success: readonly number[]
  /** Statuses whose answers callers see as they are. They cost nothing. */
  readonly passes: readonly number[]
  readonly deadlineSeconds: number
  /** Of an answer; a stream may have more. */
  readonly maxBytes: number
  readonly streams: boolean
  /** Whether the same request twice does no more than once. */
  readonly idempotent: boolean
  /** How often it is asked again, at most. */
  readonly retries: number
}

/** What the owner has the hub add to each request. Secret. */
export interface Injected {
  readonly place: 'header' | 'query'
  readonly name: string
  readonly value: string
}

/** A service whose answers come from somebody's HTTP API. Unchanged, it is the same object. */
export interface Upstream {
  readonly slug: string
  readonly name: string
  readonly category: string
  readonly summary: string
  readonly provider: string
  readonly freeCallsPerMonth: number
  readonly deprecated: Deprecation | undefined
  /** Without a slash at its end. */
  readonly baseUrl: string
  /** Headers of callers that go on, and of answers that come back, beside the usual ones. */
  readonly requestHeaders: readonly string[]
  readonly responseHeaders: readonly string[]
  readonly injected: readonly Injected[]
  readonly endpoints: readonly UpstreamEndpoint[]
  /** The way there: guarded, but for a host of the operator's own in a sandbox. */
  readonly way: Pick<Egress, 'request'>
}

/** What a probe of an upstream is to ask. */
export type DueProbe = Pick<Upstream, 'slug' | 'way'> & { readonly url: string }

/** What a probe has seen. */
export interface Health {
  readonly up: boolean
  readonly latencyMs: number
  /** `status 200`, or the code of an `EgressError`. */
  readonly detail: string
}

/** Upstreams of owners, as rows of the database. */
export interface Upstreams {
  /** What is sold under a slug, as it is now. */
  find(slug: string): Promise<Upstream | undefined>
  /** Some of those that are sold, by slug, after this one. */
  list(after: string): Promise<readonly Upstream[]>
  /** What would be sold under a slug. */
  preview(slug: string): Promise<Upstream | undefined>
  /** Upstreams whose probe is due, which are noted as asked. */
  due(): Promise<readonly DueProbe[]>
  noteHealth(slug: string, health: Health): Promise<void>
  /** Ends what was announced to end. @returns how many */
  retireDue(): Promise<number>
  /** Encrypts secrets anew that are under an old key. @returns how many */
  reseal(): Promise<number>
}
