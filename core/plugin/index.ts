/**
 * The plugin API: everything that a plugin may import.
 *
 * A plugin is a service, a family of services, or a function that receives a `Host` and returns one
 * of the two. The listing, the OpenAPI document, the 402 offer and the price follow from the
 * declaration. For each call the hub authenticates the caller, reserves the price, validates the
 * input, calls `handle`, and settles or refunds.
 *
 * This is version 1 (`agenthub.apiVersion` in the plugin's package.json), and frozen: existing
 * members keep their meaning and additions are optional; `test/core/plugin/api.txt` pins it.
 * Members injected into first-party plugins only (`buyer`, `domains`, `upstreams`, `park`,
 * `Unresolved`, `Taken`) are not part of the promise.
 *
 * A plugin may run in a worker, or in a process without any access. It then receives only the
 * `Host` members that the operator injects by name, and all values it exchanges with the hub are
 * JSON.
 *
 * @example
 * export default defineService({
 *   slug: 'echo', name: 'Echo', category: 'test', provider: 'example',
 *   summary: 'Returns the words it receives.',
 *   endpoints: {
 *     'POST /say': {
 *       summary: 'Returns the same words.',
 *       price: usd('0.0001'),
 *       input: s.object({ words: s.string({ maxBytes: 1_000 }) }),
 *       handle: ({ input }) => ({ words: input.words }),
 *     },
 *   },
 * })
 */
import type { Clock } from '../clock.ts'
import type { Egress } from '../egress/http.ts'
import type { Micros } from '../money.ts'
import type { Buyer } from './buyer.ts'
import type { Call, Quote, Reply, Taken, Unresolved } from './call.ts'
import type { Deprecation } from './deprecation.ts'
import type { MeteredPrice } from './metered.ts'
import type { Browser, Command, Database, Domains, Schedule } from './parts.ts'
import type { Schema } from './schema.ts'
import type { ParameterStyle, Upstreams } from './upstreams.ts'

export type { Clock } from '../clock.ts'
export { EgressError } from '../egress/errors.ts'
export type { EgressRequest, EgressResponse } from '../egress/http.ts'
export { type Micros, micros, usd } from '../money.ts'
export { retryAfterSeconds } from '../retry-after.ts'
export { singular } from '../singular.ts'
export type * from './buyer.ts'
export {
  type Call,
  Failure,
  type Quote,
  type QuoteCaution,
  Refusal,
  Reply,
  Taken,
  Unresolved,
} from './call.ts'
export { type MeteredPrice, type UnitPrice, unitPrice } from './metered.ts'
export type { PageRefusal, PageRule, PricedPage } from './pages.ts'
export type * from './parts.ts'
export { RenderError } from './render-error.ts'
export type { Infer, Schema } from './schema.ts'
export * as s from './schema.ts'
export type * from './upstreams.ts'

/** Method, one space, and a path below the service slug: `POST /classify`, `GET /jobs/{id}`. */
export type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

/**
 * Price of a call: fixed, computed from the input before the work starts, or by the usage that the
 * handler reports. `max` is shown in offers before there is a valid input; `of` never returns more.
 * `min` is the price of the cheapest call, by which the catalog lists and finds the service; by
 * default, `max`.
 */
export type Price<Input> =
  | Micros
  | {
      readonly max: Micros
      readonly min?: Micros
      readonly unit?: never
      /** @param agent host of the agent that signed the request, as in `Call.agent` */
      readonly of: (input: Input, agent?: string) => Quote | Promise<Quote>
    }
  | MeteredPrice

export interface Endpoint<Input, Output> {
  /** One sentence, shown in listings and in the 402 offer. */
  readonly summary: string
  readonly price: Price<Input>
  readonly input: Schema<Input>
  /** For POST, PUT and PATCH: members of the input passed in the query instead of the body. */
  readonly query?: readonly string[]
  /** Serialization of members in the URL, if not the default: `a=1&a=2` for a list. */
  readonly styles?: Readonly<Record<string, ParameterStyle>>
  /**
   * Serialization of members in a form body, which callers may then send instead of JSON; files of
   * a multipart form become Base64. Default: no forms.
   */
  readonly form?: Readonly<Record<string, ParameterStyle>>
  /** Request headers passed to the handler besides the default ones. */
  readonly headers?: readonly string[]
  /** If declared, a response that does not match is refunded. Bytes are parsed as JSON. */
  readonly output?: Schema<Output>
  /** Seconds until the call is aborted and refunded. Default 30, at most 300. */
  readonly deadlineSeconds?: number
  /**
   * True if it may return a stream. An x402 payment is settled before the work, because sent data
   * cannot be taken back. `charge` may be called until the stream ends.
   */
  readonly streams?: boolean
  /**
   * True if the work has effects that cannot be undone. An x402 payment is then settled before the
   * work, as for streams. Default: false; for an imported API, true unless it is idempotent.
   */
  readonly prepaid?: boolean
  /** Return to charge the caller; throw to refund in full. */
  readonly handle: (
    call: Call<Input>,
  ) => Output | Reply | Unresolved | Taken | Promise<Output | Reply | Unresolved | Taken>
}

export interface Service<Inputs = Record<Route, unknown>> {
  /** First segment of the path: 2 to 40 characters of a-z, 0-9 and inner hyphens. */
  readonly slug: string
  readonly name: string
  readonly category: string
  /** One or two sentences: what it does, for whom. */
  readonly summary: string
  /** Provider id that earns the revenue, such as `acme`; `agenthub` is the platform itself. */
  readonly provider: string
  /** Free calls of each caller per UTC month, over all endpoints not metered. Default 0. */
  readonly freeCallsPerMonth?: number
  /**
   * Free units of each caller per UTC month, by the unit of metered endpoints, as in
   * `{ tokens: 100_000 }`. They pay for a call if they cover its maximum. Default none.
   */
  readonly freeUnitsPerMonth?: Readonly<Record<string, number>>
  /** Announces the end of the service to callers in response headers. */
  readonly deprecated?: Deprecation
  readonly endpoints: { readonly [R in keyof Inputs]: Endpoint<Inputs[R], unknown> } & {
    readonly [R in Exclude<keyof Inputs, Route>]: never
  }
  /** Jobs by name: lower-case letters and hyphens. */
  readonly schedules?: Readonly<Record<string, Schedule>>
  /** Operator commands by name, in the order of the help text. */
  readonly commands?: Readonly<Record<string, Command>>
  /** Returns true if it has something to sell; else it is not listed. Called often. */
  readonly isListed?: () => Promise<boolean>
  /** Figures for operators by name, in `GET /metrics`; not read from isolated plugins. */
  readonly gauges?: () => Promise<Readonly<Record<string, number>>>
}

/** Service with its input types erased, as the hub stores it. */
// oxlint-disable-next-line typescript/no-explicit-any -- the input is checked at run time
export type AnyService = Service<any>

/**
 * Any number of similar services that providers create while the hub runs, as database rows. A
 * service that `find` no longer returns is refused within a second.
 */
export interface Family {
  /** Name of the family in jobs and settings, in the format of a slug. */
  readonly family: string
  /**
   * Returns the current service of a slug, or undefined. Called about once a second for a slug in
   * use, so it should need only one indexed read.
   */
  readonly find: (slug: string) => Promise<AnyService | undefined>
  /** Returns a page of services ordered by slug, after this slug; empty at the end. */
  readonly list: (after: string) => Promise<readonly AnyService[]>
  /** Returns an unpublished service, for test calls of its owner. */
  readonly preview?: (slug: string) => Promise<AnyService | undefined>
  readonly schedules?: Service['schedules']
  readonly commands?: Service['commands']
}

/** Endpoint with its types erased. */
// oxlint-disable-next-line typescript/no-explicit-any -- the input is checked at run time
export type AnyEndpoint = Endpoint<any, unknown>

/** Capabilities injected into a plugin. A plugin that needs none is a plain service. */
export interface Host {
  /** Reads `HUB_SECRET_<NAME>` of the configuration; undefined if it is not set. */
  readonly secret: (name: string) => string | undefined
  readonly log: (message: string, fields?: Readonly<Record<string, unknown>>) => void
  /** HTTP client for public addresses only, without redirects, with limits on size and time. */
  readonly http: Pick<Egress, 'request'>
  /**
   * HTTP client for the origins in `HUB_PLUGIN_HOSTS` only, including this machine. For addresses
   * that the operator configured, never for one from a caller.
   */
  readonly backends: Pick<Egress, 'request'>
  /** Browser, started on the first request. */
  readonly browser: Browser
  readonly clock: Clock
  /** True in a sandbox, where nothing costs real money. */
  readonly sandbox: boolean
  /** Only for the first-party plugin `external`. */
  readonly buyer?: Buyer
  /** Only for the first-party plugin `content`. */
  readonly domains?: Domains
  /** Only for the first-party plugin `upstream`. */
  readonly upstreams?: Upstreams
}

/**
 * Plugin with a database. The hub applies the plugin's migrations and injects the database, into an
 * isolated plugin too (`+database:SLUG`). A family can run inline only (`needs_inline`).
 */
export interface DataPlugin {
  /** Slug of its service, or name of its family. */
  readonly slug: string
  /** Folder of `NNNN_name.sql`, numbered from 0001, forward only, run in the plugin's own role. */
  readonly migrations: URL
  readonly open: (host: Host & { readonly database: Database }) => AnyService | Family
}

export type Plugin = AnyService | Family | ((host: Host) => AnyService | Family) | DataPlugin

/** Declares a priced service. The type of `call.input` follows from `input`. */
export const defineService = <Inputs extends Record<Route, unknown>>(
  service: Service<Inputs>,
): Service<Inputs> => service
