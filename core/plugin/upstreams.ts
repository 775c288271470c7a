import type { Egress } from '../egress/http.ts'
import type { Micros } from '../money.ts'
import type { Deprecation } from './deprecation.ts'

/** HTTP APIs listed without code. Injected into the first-party plugin `upstream`. */

export const PARAMETER_STYLES = [
  'simple',
  'label',
  'matrix',
  'form',
  'spaceDelimited',
  'pipeDelimited',
  'deepObject',
  'json',
] as const

/** Serialization of an input member in a URL, in the terms of OpenAPI. */
export interface ParameterStyle {
  /** Name in the request; default: that of the member. */
  readonly name?: string
  /** `json` sends the value as JSON text. */
  readonly style: (typeof PARAMETER_STYLES)[number]
  readonly explode: boolean
}

/** Serialization of a member of a form or multipart body. */
export interface PartEncoding {
  readonly style?: ParameterStyle['style']
  readonly explode?: boolean
  readonly contentType?: string
  /** True if callers send Base64, and the upstream gets the bytes. */
  readonly binary?: boolean
}

/** Serialization of a request, where it differs from the default. */
export interface RequestEncoding {
  /** Members in the path and the query. */
  readonly parameters?: Readonly<Record<string, ParameterStyle>>
  /** Member that is the whole body, such as a list. */
  readonly bodyMember?: string
  /** True to send no body if the caller gives none of its members. */
  readonly omitsEmptyBody?: boolean
  /** Media type of the body; default: that of its kind. */
  readonly contentType?: string
  readonly parts?: Readonly<Record<string, PartEncoding>>
}

/** Price of units that an upstream reports with its responses. */
export interface UpstreamMeter {
  /** Name of what is counted, in the plural. */
  readonly unit: string
  /** Microdollars for `per` units. */
  readonly amount: number
  readonly per: number
  /** Response header with the number of units, in lower case; or else `pointer` is set. */
  readonly header?: string | undefined
  /** JSON Pointer to the number of units in the response body. */
  readonly pointer?: string | undefined
  /** Treatment of a response without usage: it fails, or costs the maximum, or nothing. */
  readonly ifAbsent: 'fail' | 'maximum' | 'free'
}

/** Endpoint of an upstream: the route for sale and its target. */
export interface UpstreamEndpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below the slug, with `{name}` parameters. */
  readonly path: string
  /** Path below the base URL, with the same parameters. */
  readonly upstreamPath: string
  readonly summary: string
  /** Price of a call; the maximum if it is metered. */
  readonly price: Micros
  readonly metered?: UpstreamMeter | undefined
  /** JSON Schema of the input, an object. */
  readonly input: Readonly<Record<string, unknown>>
  /** Input of the latest test call of its provider that passed, unless it is long. */
  readonly sample?: Readonly<Record<string, unknown>>
  /** JSON Schema of the response. */
  readonly output: Readonly<Record<string, unknown>> | null
  /** Input members sent in the query; for GET, and DELETE without a body, all of them. */
  readonly query: readonly string[]
  /** Kind of the body with the other input members; `text` and `binary` are one member. */
  readonly body: 'none' | 'json' | 'form' | 'multipart' | 'text' | 'binary'
  readonly encoding: RequestEncoding | null
  /** Statuses that are delivered and charged. */
  readonly success: readonly number[]
  /** Error statuses that are passed to the caller unchanged. */
  readonly passes: readonly number[]
  /** Client errors among `passes` that are charged; undefined in versions from before: none. */
  readonly charges?: readonly number[]
  readonly deadlineSeconds: number
  /** Maximum size of a response; a stream may be larger. */
  readonly maxBytes: number
  readonly streams: boolean
  /** True if repeating a request has no further effect. */
  readonly idempotent: boolean
  /** Maximum number of retries. */
  readonly retries: number
}

/** Upstream credential that the hub adds to each request. Secret. */
export interface Injected {
  readonly place: 'header' | 'query'
  readonly name: string
  readonly value: string
}

/** Access token of OAuth2 client credentials. The object is the same until it is replaced. */
export interface AccessToken {
  /** Header value: `Bearer …`. */
  readonly authorization: string
  /** Texts that no response may repeat. */
  readonly hidden: readonly Injected[]
}

/** Access tokens of one upstream. */
export interface AccessTokens {
  /** Returns a valid token. @throws Failure of the provider if its token endpoint returns none */
  get(): Promise<AccessToken>
  /** Discards a token that the API refused. Returns true if another one may be tried. */
  discard(token: AccessToken): boolean
}

/** Service backed by a provider's HTTP API. The object is the same until the service changes. */
export interface Upstream {
  readonly slug: string
  readonly name: string
  readonly category: string
  readonly summary: string
  readonly provider: string
  readonly freeCallsPerMonth: number
  readonly deprecated: Deprecation | undefined
  /** Without a trailing slash. */
  readonly baseUrl: string
  /** Request headers passed to the upstream, besides the default ones. */
  readonly requestHeaders: readonly string[]
  /** Response headers passed to the caller, besides the default ones. */
  readonly responseHeaders: readonly string[]
  readonly injected: readonly Injected[]
  /** Set if each request needs an access token besides. */
  readonly tokens?: AccessTokens | undefined
  readonly endpoints: readonly UpstreamEndpoint[]
  /** HTTP client: guarded, except for the operator's own hosts in a sandbox. */
  readonly way: Pick<Egress, 'request'>
}

/** Pending health probe of an upstream. */
export type DueProbe = Pick<Upstream, 'slug' | 'way'> & { readonly url: string }

/** Result of a health probe. */
export interface Health {
  readonly up: boolean
  readonly latencyMs: number
  /** `status 200`, or the code of an `EgressError`. */
  readonly detail: string
}

/** Upstreams stored in the database. */
export interface Upstreams {
  /** Returns the upstream currently sold under a slug. */
  find(slug: string): Promise<Upstream | undefined>
  /** Returns a page of upstreams for sale ordered by slug, after this slug. */
  list(after: string): Promise<readonly Upstream[]>
  /** Returns the unpublished upstream of a slug. */
  preview(slug: string): Promise<Upstream | undefined>
  /** Returns upstreams due for a probe, and marks them as probed. */
  due(): Promise<readonly DueProbe[]>
  noteHealth(slug: string, health: Health): Promise<void>
  /** Retires services whose announced end has come. @returns their number */
  retireDue(): Promise<number>
  /** Re-encrypts secrets sealed with an old key. @returns their number */
  reseal(): Promise<number>
}
