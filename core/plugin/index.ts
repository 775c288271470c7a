/**
 * The plugin API: everything that a provider may import, and nothing else.
 *
 * A plugin is a service, a family of services, or a function that is lent a `Host` and gives one of
 * the two. The listing, the OpenAPI document, the 402 offer and the price all follow from the
 * declaration; the hub authenticates, takes the money, checks the input, calls `handle`, and
 * settles or refunds.
 *
 * This is version 1 (`agenthub.apiVersion` in the package.json of a plugin), and frozen: what is
 * here stays and means the same, what is added is optional; `test/core/plugin/api.txt` pins it.
 * What the house alone is lent (`buyer`, `domains`, `upstreams`, `park`, `Unresolved`, `Taken`) is
 * not promised.
 *
 * A plugin may be run in a worker, or in a process that reaches nothing: it then has of its `Host`
 * what the operator lends by name, and all that it says and is told is JSON.
 *
 * @example
 * export default defineService({
 *   slug: 'echo', name: 'Echo', category: 'test', provider: 'example',
 *   summary: 'Says back what it was told.',
 *   endpoints: {
 *     'POST /say': {
 *       summary: 'Answers with the same words.',
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
import type { Deprecation } from './deprecation.ts'
import type { Browser, Command, Database, Domains, Schedule } from './parts.ts'
import type { Schema } from './schema.ts'
import type { Upstreams } from './upstreams.ts'

export type { Clock } from '../clock.ts'
export { EgressError } from '../egress/errors.ts'
export type { EgressRequest, EgressResponse } from '../egress/http.ts'
export { type Micros, micros, usd } from '../money.ts'
export type * from './buyer.ts'
export { Failure } from './failure.ts'
export type { PageRefusal, PageRule, PricedPage } from './pages.ts'
export type * from './parts.ts'
export { RenderError } from './render-error.ts'
export type { Infer, Schema } from './schema.ts'
export * as s from './schema.ts'
export type * from './upstreams.ts'

/** A method, one space, and a path below the service slug: `POST /classify`, `GET /jobs/{id}`. */
export type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

/** What a computed price came to, with whatever the handler needs to know about how. */
export interface Quote<Terms = unknown> {
  readonly amount: Micros
  readonly terms?: Terms
}

/**
 * A price known before the work starts: fixed, or computed from the input. `max` is what an
 * offer shows before there is a valid input; `of` never answers more than `max`.
 */
export type Price<Input> =
  | Micros
  | { readonly max: Micros; readonly of: (input: Input) => Quote | Promise<Quote> }

/** What a handler is given for one funded call. */
export interface Call<Input> {
  /** The id of the call: unique for ever, the same in the ledger, the receipt and the logs. */
  readonly id: string
  /**
   * The request body (or, for GET and DELETE, the query), checked against the input schema. What
   * stands in the path for `{name}` is its member `name`.
   */
  readonly input: Input
  /**
   * Who pays: the id of a key, or `x402:` and a wallet that was proved; `nobody` where there is
   * nothing to pay. The same payer, the same text.
   */
  readonly payer: string
  /** What the caller sent that a provider may see, by lower-case name: no key, cookie, address. */
  readonly headers?: Readonly<Record<string, string>>
  /** What the computed price left for the handler; undefined for a fixed price. */
  readonly terms: unknown
  /** Aborts at the deadline. */
  readonly signal: AbortSignal
  /**
   * Parks the caller's money, whatever becomes of the handler: it neither comes back nor is charged
   * until the one who parked it resolves the hold. Freed again, it is the hub's to give back. For
   * privileged plugins, before a signature leaves.
   */
  readonly park?: (parked: boolean) => void
  /**
   * Lowers the charge below the quote. A call paid on the spot by x402 costs all of the quote or,
   * lowered to zero, nothing. Raising the charge is a fault of the plugin: the call fails.
   */
  readonly charge: (amount: Micros) => void
}

/**
 * An answer with a status, headers, bytes or a stream of its own. Anything but a 2xx is refunded.
 * A stream is sent as it comes, and charged at its end if it came whole: before the deadline, in at
 * most 256 MiB. Its endpoint declares `streams`.
 */
export class Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  constructor(
    body: unknown,
    { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
  ) {
    this.status = status
    this.headers = headers
    this.body = body
  }
}

/** A failure that is told like a fault, and bears on the caller's money. */
class Ending {
  readonly code: string
  readonly detail: string
  readonly extras: Readonly<Record<string, unknown>>
  /** @param code of the fault that the caller is told */
  constructor(code: string, detail: string, extras: Readonly<Record<string, unknown>> = {}) {
    this.code = code
    this.detail = detail
    this.extras = extras
  }
}

/**
 * An outcome that only time will tell, such as a payment to a third party whose answer was lost.
 * The caller's money stays held until the one who returned this learns the outcome and resolves
 * the hold. For privileged plugins.
 */
export class Unresolved extends Ending {
  readonly kind = 'unresolved'
}

/**
 * A failure that costs the price all the same, since a third party has demonstrably taken the
 * money. For privileged plugins.
 */
export class Taken extends Ending {
  readonly kind = 'taken'
}

/**
 * An input that the handler cannot serve, told to the caller as a 4xx and refunded in full; from a
 * computed price, before anything is paid.
 * A `Failure` is the service's own, and says why. Anything else that a handler throws is a 502
 * without details, refunded too.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: 404 | 422
  readonly code: string
  readonly extras: Readonly<Record<string, unknown>>
  /**
   * @param code stable snake_case name of the reason, such as `empty_text`
   * @param detail a sentence that tells the caller what to change
   * @param extras further members of the problem body, such as the allowed values
   */
  constructor(
    code: string,
    detail: string,
    { status = 422, ...extras }: { status?: 404 | 422 } & Record<string, unknown> = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.extras = extras
  }
}

export interface Endpoint<Input, Output> {
  /** One sentence, shown in listings and in the 402 offer. */
  readonly summary: string
  readonly price: Price<Input>
  readonly input: Schema<Input>
  /** Of a POST, PUT or PATCH: members of the input that stand in the query, not in the body. */
  readonly query?: readonly string[]
  /** Headers of callers that it is to see, beside those that every provider may. */
  readonly headers?: readonly string[]
  /** When declared, an answer that does not satisfy it is refunded. Bytes are read as JSON. */
  readonly output?: Schema<Output>
  /** Seconds until the call is aborted and refunded. Default 30, at most 300. */
  readonly deadlineSeconds?: number
  /**
   * Whether it may answer a stream. An x402 payment for it is taken before the work, since what has
   * been sent cannot be taken back. `charge` may be called until the stream ends.
   */
  readonly streams?: boolean
  /** Answer to charge the caller; throw to refund the caller in full. */
  readonly handle: (
    call: Call<Input>,
  ) => Output | Reply | Unresolved | Taken | Promise<Output | Reply | Unresolved | Taken>
}

export interface Service<Inputs = Record<Route, unknown>> {
  /** The first segment of the path: 2 to 40 of a-z, 0-9 and inner hyphens. */
  readonly slug: string
  readonly name: string
  readonly category: string
  /** One or two sentences: what it does, for whom. */
  readonly summary: string
  /** Who earns: an identifier such as `acme`. `agenthub` is the house itself. */
  readonly provider: string
  /** Calls that each caller has free per UTC month, over all endpoints. Default 0. */
  readonly freeCallsPerMonth?: number
  /** That it will end: callers are told by headers. */
  readonly deprecated?: Deprecation
  readonly endpoints: { readonly [R in keyof Inputs]: Endpoint<Inputs[R], unknown> } & {
    readonly [R in Exclude<keyof Inputs, Route>]: never
  }
  /** Jobs, by name: lower case letters and hyphens. */
  readonly schedules?: Readonly<Record<string, Schedule>>
  /** For the operator, by name, in the order in which the help tells them. */
  readonly commands?: Readonly<Record<string, Command>>
  /** Whether it has something to sell. Until then it is not listed. Asked often. */
  readonly isListed?: () => Promise<boolean>
}

/** A service whose inputs are forgotten, as the hub holds it. */
// oxlint-disable-next-line typescript/no-explicit-any -- the input is checked at run time
export type AnyService = Service<any>

/**
 * Services of one kind that their owners make while the hub runs, as rows of a database: as many
 * as there are. What is found is sold; what is no longer found is refused a second later.
 */
export interface Family {
  /** The name of all of them, in jobs and settings. It is written as a slug is. */
  readonly family: string
  /**
   * The service of a slug, as it is now; undefined: nothing is sold there. It is asked about once
   * a second for a slug that is called, so one indexed read should do.
   */
  readonly find: (slug: string) => Promise<AnyService | undefined>
  /** Some of what is sold, by slug, after this one; none: there are no more. */
  readonly list: (after: string) => Promise<readonly AnyService[]>
  /** The service as it would be sold, before it is: for test calls of its owner. */
  readonly preview?: (slug: string) => Promise<AnyService | undefined>
  readonly schedules?: Service['schedules']
  readonly commands?: Service['commands']
}

/** One endpoint whose types are forgotten. */
// oxlint-disable-next-line typescript/no-explicit-any -- the input is checked at run time
export type AnyEndpoint = Endpoint<any, unknown>

/** What the hub lends a plugin. A plugin that needs none of it is a plain service. */
export interface Host {
  /** Reads `HUB_SECRET_<NAME>` of the configuration; undefined when it is not set. */
  readonly secret: (name: string) => string | undefined
  readonly log: (message: string, fields?: Readonly<Record<string, unknown>>) => void
  /** The way to foreign hosts: public addresses alone, no redirects, limits on size and time. */
  readonly http: Pick<Egress, 'request'>
  /**
   * The way to the origins of `HUB_PLUGIN_HOSTS` alone, on this machine too: for an address that
   * the operator configured, never for one that a caller gave.
   */
  readonly backends: Pick<Egress, 'request'>
  /** Started when the first page is asked for. */
  readonly browser: Browser
  readonly clock: Clock
  /** Whether the hub is a sandbox, where nothing costs real money. */
  readonly sandbox: boolean
  /** Lent to the house's own `external` plugin alone. */
  readonly buyer?: Buyer
  /** Lent to the house's own `content` plugin alone. */
  readonly domains?: Domains
  /** Lent to the house's own `upstream` plugin alone. */
  readonly upstreams?: Upstreams
}

/**
 * A plugin that keeps data: it is lent a database that its own migrations have been applied to,
 * apart from the hub too (`+database:SLUG`). A family runs inline alone (`needs_inline`).
 */
export interface DataPlugin {
  /** Of its service, or the name of its family. */
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
