import type { Readable } from 'node:stream'
import type { Offering } from '../../core/catalog/services/catalog.ts'
import type { HeaderValues } from '../../core/egress/headers.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Micros } from '../../core/money.ts'
import type { KeptAnswer } from '../../core/usage/kept-answers.ts'
import type { Trace } from '../observability/trace.ts'

/** A request for one call, whichever door it came through. */
export interface CallRequest {
  readonly requestId: string
  readonly slug: string
  readonly method: string
  /** Below the slug, with its leading slash. */
  readonly path: string
  /** Address of the page, for the offer of a 402: asked for seldom, and dear to find. */
  readonly url: () => string
  readonly query: JsonObject
  readonly body: unknown
  /** As they came, where they came by HTTP. */
  readonly headers?: HeaderValues
  /** Why the body could not be read. It is told to those who could pay, as bad input is. */
  readonly unreadable?: Fault | undefined
  readonly authorization: string | undefined
  /** The PAYMENT-SIGNATURE header of x402. */
  readonly payment: string | undefined
  /** The caller's own name for the request: it is charged once. */
  readonly idempotencyKey: string | undefined
  /** Dearer calls are refused before they are made. */
  readonly maxPrice: Micros | undefined
  /** A quote whose price counts, though it may have risen since. */
  readonly quoteId?: string | undefined
  /** Only to be told what would happen. */
  readonly dryRun?: boolean
  readonly ip: () => string
  /** Whether the caller has hung up. */
  readonly isGone?: () => boolean
  /** Takes headers that the answer is to have whatever comes of the call. */
  readonly early?: (headers: Readonly<Record<string, string>>) => void
  /** Where the steps note how long they took. */
  readonly trace?: Trace
}

/** Somebody without a key: may read offers, and pay each request by x402. */
export interface Keyless {
  readonly keyId: null
  readonly ip: string
}

export interface Offer {
  /** Call id, UUID version 7. */
  readonly call: string
  readonly offering: Offering
  /** The price of this very input; for an invalid one, the most that the endpoint costs. */
  readonly price: Micros
  readonly terms: unknown
  readonly input: unknown
  /** See `requestHash`; empty for an input that is refused. */
  readonly requestHash: Buffer
  /** What is wrong with the input. It is told to those who could pay; others get the offer. */
  readonly complaint: Fault | undefined
  /** Why the quote that was named does not count; no matter where an answer is only repeated. */
  readonly lapsed?: Fault | undefined
}

/** What came of the handler. Only a delivered answer is charged. */
export type Outcome = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** How long the handler took, in milliseconds. */
  readonly latencyMs: number
  /** The call that was answered so before. */
  readonly repeats?: string
  /** Of a body that is a stream. */
  readonly flowing?: Flowing | undefined
} /** The reason: why it is charged though it did not come whole. */ & (
  | { readonly kind: 'delivered'; readonly charged: Micros; readonly reason?: string }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'unresolved' }
  /** Failed, and charged: a third party has the money. */
  | { readonly kind: 'taken'; readonly charged: Micros; readonly reason: string }
)

/** An answer that is sent as it comes. */
export interface Flowing {
  readonly source: Readable
  /** Of the call: when it is over, so is the stream. */
  readonly deadline: AbortSignal
  /** What it costs so far: the handler may lower the charge while it sends. */
  readonly charged: () => Micros
  /** Whether a third party has the money already: then it is settled before it is sent. */
  readonly isPaid: boolean
}

export type FundingSource = 'free' | 'credits' | 'x402' | 'none'

export interface Receipt {
  readonly source: FundingSource
  readonly charged: Micros
  /** The credits that are left; undefined for a caller without a key. */
  readonly balance: Micros | undefined
  /** Id of the journal's rows; left out where no money was asked for. */
  readonly entry?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Money that waits on the outcome of one call. What leaves scope unsettled goes back; what is
 * parked waits for the one who learns the outcome.
 */
export interface Funds extends AsyncDisposable {
  readonly source: FundingSource
  /** The id of a key, `x402:` and a wallet that was proved, or `nobody`. */
  readonly payer: string
  /** Parked money waits for the one who parked it, whatever becomes of the call. */
  readonly parked?: boolean
  park?(parked: boolean): void
  /** The answer that this payment had before: nothing is to be done. */
  readonly kept?: KeptAnswer | undefined
  /** What tells the caller that the money has come already. */
  readonly paid?: Readonly<Record<string, string>> | undefined
  /** Whether the answer is kept, so that it can be had again. */
  readonly keeps?: boolean
  /** What a failure is to tell besides, such as what becomes of a payment that has come already. */
  told?(fault: Fault): Fault
  /** Charges what was delivered or taken, refunds what failed, parks what is unresolved. */
  settle(outcome: Outcome): Promise<Receipt>
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface Steps {
  authenticate(request: CallRequest): Promise<Caller | Keyless>
  limitRate(caller: Caller | Keyless, request: CallRequest): Promise<void>
  quote(caller: Caller | Keyless, request: CallRequest): Promise<Offer>
  /** What would come of the call. */
  foresee(caller: Caller | Keyless, offer: Offer, request: CallRequest): Promise<Reply>
  fund(caller: Caller | Keyless, offer: Offer, request: CallRequest): Promise<Funds>
  handle(
    caller: Caller | Keyless,
    offer: Offer,
    funds: Funds,
    request: CallRequest,
  ): Promise<Outcome>
  settle(funds: Funds, started: Started): Promise<Receipt>
  respond(made: Made): Promise<Reply>
  /** Begins to answer; from here on the funds are the stream's, to settle or to give back. */
  stream(started: Started, funds: Funds): Promise<Reply>
}

/** Everything about a call whose handler has answered. */
export interface Started {
  readonly request: CallRequest
  readonly caller: Caller | Keyless
  readonly offer: Offer
  readonly payer: string
  readonly outcome: Outcome
}

/** Everything about a call that was made. */
export interface Made extends Started {
  readonly receipt: Receipt
}

/** One paid call, from the caller's key to the caller's answer. Read it top to bottom. */
export async function call(steps: Steps, request: CallRequest): Promise<Reply> {
  const caller = await steps.authenticate(request)
  await steps.limitRate(caller, request)
  const offer = await steps.quote(caller, request)
  if (request.dryRun) return steps.foresee(caller, offer, request) // nothing moves
  const funds = await steps.fund(caller, offer, request) // free, credits, x402, or a 402
  let flows = false
  try {
    const outcome = await steps.handle(caller, offer, funds, request) // throws → refund
    const started = { request, caller, offer, payer: funds.payer, outcome }
    flows = outcome.flowing !== undefined
    if (flows) return await steps.stream(started, funds) // it settles at its end
    const receipt = await steps.settle(funds, started)
    return await steps.respond({ ...started, receipt })
  } finally {
    if (!flows) await funds[Symbol.asyncDispose]() // what is not settled goes back
  }
}
