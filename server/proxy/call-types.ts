import type { Readable } from 'node:stream'
import type { SignedMessage } from '../../core/agents/agent-verifier.ts'
import type { Offering } from '../../core/catalog/services/catalog.ts'
import type { HeaderValues } from '../../core/egress/headers.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { Micros } from '../../core/money.ts'
import type { MeteredPrice, Quote } from '../../core/plugin/index.ts'
import type { Usage } from '../../core/plugin/metered.ts'
import type { IdempotentAttempt } from '../../core/usage/idempotency.ts'
import type { StoredResponse } from '../../core/usage/stored-responses.ts'
import type { Trace } from '../observability/trace.ts'
import type { Charging } from './charging.ts'

export interface CallRequest {
  readonly requestId: string
  readonly slug: string
  readonly method: string
  /** Below the slug, with its leading slash. */
  readonly path: string
  /** Returns the URL of the resource for a 402. Lazy: rarely needed and costly to compute. */
  readonly url: () => string
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly headers?: HeaderValues
  /** Reason why the body could not be read. Reported like an input error. */
  readonly bodyError?: Fault | undefined
  /** Set if the entry point has authenticated and rate-limited the request itself. */
  readonly caller?: Caller
  readonly authorization: string | undefined
  /** Value of the x402 header PAYMENT-SIGNATURE, or credential of MPP. */
  readonly payment: string | undefined
  /** Value of the x402 header SIGN-IN-WITH-X. Ignored beside a key. */
  readonly signIn?: string | undefined
  /** Returns the URL that challenges name if it is not `url`: the MCP endpoint, for its tools. */
  readonly signInUrl?: (() => string) | undefined
  /** The request as sent, if an agent has signed it. */
  readonly signedMessage?: SignedMessage | undefined
  /** Host of the agent that signed the request, once it is verified. */
  readonly agent?: string | undefined
  readonly idempotencyKey: string | undefined
  /** A higher price is refused with `price_exceeds_max`. */
  readonly maxPrice: Micros | undefined
  /** Name under which the caller sent it. @defaultValue X-Max-Price */
  readonly maxPriceName?: string | undefined
  /** Quote whose price applies if it is lower than the current one. */
  readonly quoteId?: string | undefined
  /** New payee address of an external seller that the caller accepts. */
  readonly acceptPayTo?: string | undefined
  readonly dryRun?: boolean
  readonly ip: () => string
  /** Returns true if the caller has disconnected. */
  readonly isGone?: () => boolean
  /**
   * Returns false for a body that the caller can get neither here nor by its idempotency key.
   * @param isWhole false for the beginning of a stream that is too long to be stored
   */
  readonly isObtainable?: (body: unknown, isWhole?: boolean) => boolean
  /** Reserves memory for a response that is being made. Returns false if there is none left. */
  readonly reserveMemory?: (bytes: number) => boolean
  /** Sets headers of the response, whatever the outcome of the call. */
  readonly addHeaders?: (headers: Readonly<Record<string, string>>) => void
  readonly onProgress?: (progress: CallProgress) => void
  readonly trace?: Trace
}

/** Reported once each, in this order. A stream is not reported beyond `funded`. */
export type CallProgress =
  | { readonly stage: 'priced'; readonly price: Micros }
  | { readonly stage: 'funded'; readonly source: FundingSource }
  | { readonly stage: 'handled' }
  | { readonly stage: 'settled'; readonly charged: Micros }

/** Caller without an API key: may read prices, and pay per request by x402. */
export interface AnonymousCaller {
  readonly keyId: null
  readonly ip: string
  /** Reason why the signed challenge of the request was refused. */
  readonly signInRefusal?: string
}

/** Caller whose wallet signed a challenge, up to a price. */
export interface SignedInCaller extends Caller {
  /** Microdollars. */
  readonly signedMaximum: Micros
}

/** A request matched to an endpoint, with its validated input and its price. */
export interface PricedCall {
  readonly request: CallRequest
  readonly caller: Caller | SignedInCaller | AnonymousCaller
  /** Call id, UUID version 7. */
  readonly call: string
  readonly offering: Offering
  /** Price of this input; for an invalid input, or a metered price, the endpoint's maximum. */
  readonly price: Micros
  /** Set if the price is metered: its current or quoted terms, with `price` as the maximum. */
  readonly metered: MeteredPrice | undefined
  /** Terms that the endpoint's price function attached to its quote, for its handler. */
  readonly terms: unknown
  /** Warnings about the seller, for a dry run. */
  readonly cautions?: Quote['cautions'] | undefined
  readonly input: unknown
  /** See `requestHash` of core/usage/receipts.ts; empty for an invalid input. */
  readonly requestHash: Buffer
  /** 422 or 413 for callers who could pay; others see the 402. */
  readonly inputError: Fault | undefined
  /** Reason why the requested quote does not apply. Ignored when a stored response is replayed. */
  readonly quoteError?: Fault | undefined
}

/** One attempt at a request. All attempts at the same request are charged once. */
export interface Attempt {
  /** Set if an earlier attempt was charged: its response is replayed. */
  readonly replayable?: ReplayableResponse
  /** Payment received for an earlier attempt whose work failed; it pays for this one. */
  readonly prepaid?: Funds
  /** Id of the interrupted call that this attempt continues with the same hold. */
  readonly resumed?: string
  /** State of the Idempotency-Key; undefined without one. */
  readonly keyed?: IdempotentAttempt | undefined
  /** True while a failure must release the Idempotency-Key for a new attempt. */
  isOpen: boolean
}

/** Response of an earlier attempt, and who paid for it. */
export interface ReplayableResponse {
  readonly response: StoredResponse
  readonly source: 'none' | 'x402'
  readonly headers: Readonly<Record<string, string>>
}

/** Result of the handler. Only `delivered` and `taken` are charged. */
export type CallOutcome = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** Duration of the handler, in milliseconds. */
  readonly latencyMs: number
  /** Set if the body is a stream. */
  readonly stream?: HandlerStream | undefined
  /** Usage that is paid for, if the price is metered. */
  readonly usage?: Usage | undefined
} /** `reason`: why an incomplete stream is charged. */ & (
  | { readonly kind: 'delivered'; readonly charged: Micros; readonly reason?: string }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The outcome is not known yet; the hold stays open until it is. */
  | { readonly kind: 'unresolved' }
  /** Failed and charged: an external seller has the money. */
  | { readonly kind: 'taken'; readonly charged: Micros; readonly reason: string }
)

/** Response body that the handler is still producing. */
export interface HandlerStream {
  readonly source: Readable
  /** Deadline of the call, which is also the stream's. */
  readonly deadline: AbortSignal
  /** Current price: the handler may lower it while it sends, or report usage. */
  readonly charging: Charging
  /** True if an external seller has the money: the call is settled before it is sent. */
  readonly isPaid: boolean
}

export type FundingSource = 'free' | 'credits' | 'x402' | 'none'

/** Result of a dry run: the paying source and the remaining free calls. */
export interface FundingForecast {
  readonly source: FundingSource
  /** Microdollars of credits, or of a payment. */
  readonly charged: Micros
  readonly freeCallsLeft: bigint
}

export interface Charge {
  readonly source: FundingSource
  readonly amount: Micros
  /** Remaining credits; undefined for an anonymous caller. */
  readonly balance: Micros | undefined
  /** Id of the journal's rows; undefined for an endpoint that costs nothing. */
  readonly entry?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Money reserved for one call. Disposal releases it unless it was settled or parked. */
export interface Funds extends AsyncDisposable {
  readonly source: FundingSource
  /** Key id, `x402:` and the wallet that signed the payment, or `nobody`. */
  readonly payer: string
  /** True if the handler keeps the money reserved until it knows the outcome of the call. */
  readonly parked?: boolean
  park?(parked: boolean): void
  /** True if `settle` was called, after which nothing is left to release. */
  readonly isSettled?: boolean
  /** Headers that confirm a payment received before the work. */
  readonly paymentHeaders?: Readonly<Record<string, string>> | undefined
  /** True if the response is stored, so that the same payment obtains it again. */
  readonly storesResponse?: boolean
  /** Lets a payment received before the work pay for no other attempt: it is refunded. */
  withhold?(): void
  /** Adds to a failure what happens to a payment received before the work. */
  explainFailure?(fault: Fault): Fault
  /** Charges a delivered or taken call, releases a failed one, keeps an unresolved one reserved. */
  settle(outcome: CallOutcome): Promise<Charge>
  /**
   * Notes that a response that is not stored is delivered: its call is recorded. Returns false if
   * another process has taken the payment over: this response must not be delivered.
   */
  markDelivered?(): Promise<boolean>
}

/** A call whose handler has returned. */
export interface HandledCall {
  readonly priced: PricedCall
  readonly attempt: Attempt
  readonly funds: Funds
  readonly outcome: CallOutcome
}

export interface SettledCall extends HandledCall {
  readonly charge: Charge
}
