import { elapsedMs, sleep, unrefSleep } from '../../core/clock.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import type { Counters } from './counters.ts'
import { FACILITATOR_BEHAVIORS, type FacilitatorBehavior } from './facilitator-behaviors.ts'

/** Request for a paid resource. */
export interface PaidRequest {
  readonly path: string
  readonly body: object
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Client IP address, sent in X-Forwarded-For. */
  readonly ip: string
}

/**
 * Charge reported to the buyer of a call. `open`: the outcome is not known yet; `lost`: no
 * response; `repeated`: stored response of an earlier call, which reported its own charge.
 */
export interface Charge {
  /** Id of the API key. */
  readonly key: string
  readonly call: string | undefined
  readonly charged: bigint
  readonly state: 'reported' | 'open' | 'lost' | 'repeated'
}

/** x402 payment sent by a buyer, with every response to it. */
export interface SentPayment {
  readonly payer: Hex
  readonly nonce: Hex
  readonly amount: bigint
  /** Behavior of the facilitator for this payment. */
  readonly behavior: FacilitatorBehavior
  readonly payment: string
  readonly requests: PaidRequest[]
  readonly responses: { readonly code: unknown; readonly charged: bigint }[]
}

/** Maximum time until the hub must respond. */
const RESPONSE_TIMEOUT_MS = 130_000
const RETRY_MS = 200
/** Deadline for a restarted hub; longer than any start takes. */
const START_TIMEOUT_MS = 300_000
export const PURCHASE = '/v1/credits/purchase'
const CALLS = 'payments for calls'
const CREDITS = 'payments for credits'

/** Sends the requests of all buyers and records the responses. */
export class RequestRecorder {
  readonly charges: Charge[] = []
  readonly sent: SentPayment[] = []
  /** Responses that must never occur. */
  readonly errors: string[] = []
  readonly #url: () => string
  readonly #counters: Counters
  #closed = false

  constructor(url: () => string, counters: Counters) {
    this.#url = url
    this.#counters = counters
    counters.expect(CALLS, FACILITATOR_BEHAVIORS)
    counters.expect(CREDITS, FACILITATOR_BEHAVIORS)
  }

  /** Stops waiting for a hub that does not accept connections. */
  close(): void {
    this.#closed = true
  }

  /** Sends a request. Returns undefined if no response arrived. */
  async ask(
    request: PaidRequest,
    more: Readonly<Record<string, string>> = {},
  ): Promise<ApiResponse | undefined> {
    const { path, body, key, ip } = request
    const headers = { ...request.headers, ...more, 'x-forwarded-for': ip }
    const send = () => ask(this.#url(), path, { body, key, headers })
    const response = await Promise.race([
      this.#whenStarted(send).catch(() => undefined),
      unrefSleep(RESPONSE_TIMEOUT_MS).then(() => 'late' as const),
    ])
    if (response === 'late')
      this.errors.push(`no response within ${RESPONSE_TIMEOUT_MS} ms: ${path}`)
    if (response === undefined || response === 'late') {
      this.#counters.add('responses', 'none')
      return undefined
    }
    const { code, state, request_id: id } = response.body
    const name = [code, response.status < 300 ? state : ''].find((each) => typeof each === 'string')
    this.#counters.add('responses', `${response.status} ${name}`.trim())
    if (code === 'internal_error') this.errors.push(`internal_error at ${path}, ${String(id)}`)
    return response
  }

  /** Retries while a starting hub refuses connections; nothing was sent by then. */
  async #whenStarted<T>(send: () => Promise<T>): Promise<T> {
    for (const deadline = elapsedMs() + START_TIMEOUT_MS; ; ) {
      if (elapsedMs() > deadline) throw new Error('the hub did not start in time')
      if (this.#closed) throw new Error('the run has ended')
      try {
        return await send()
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
        await sleep(RETRY_MS)
      }
    }
  }

  /** Sends a call paid with credits and records its charge. */
  async call(keyId: string, request: PaidRequest): Promise<ApiResponse | undefined> {
    const response = await this.ask(request)
    this.charges.push({ key: keyId, ...chargeOf(response) })
    return response
  }

  /** Sends a payment; it may be sent again, also with another request. */
  async pay(sent: SentPayment, request: PaidRequest): Promise<ApiResponse | undefined> {
    if (sent.requests.length === 0) {
      this.sent.push(sent)
      this.#counters.add(request.path === PURCHASE ? CREDITS : CALLS, sent.behavior)
    }
    if (!sent.requests.includes(request)) sent.requests.push(request)
    const response = await this.ask(request, { 'payment-signature': sent.payment })
    if (response) {
      sent.responses.push({ code: response.body['code'], charged: chargedOf(response) })
    }
    return response
  }
}

const chargedOf = ({ headers }: ApiResponse): bigint =>
  BigInt(String(headers['x-charged-microdollars'] ?? 0))

function chargeOf(response: ApiResponse | undefined): Omit<Charge, 'key'> {
  if (!response) return { call: undefined, charged: 0n, state: 'lost' }
  const call = response.headers['x-call-id']
  const { payment } = response.body as { readonly payment?: { readonly state?: unknown } }
  const isOpen = payment?.state === 'unresolved' || response.body['code'] === 'service_unavailable'
  const isRepeated = response.headers['idempotency-replayed'] === 'true'
  return {
    call: typeof call === 'string' ? call : undefined,
    charged: chargedOf(response),
    state: isRepeated ? 'repeated' : isOpen ? 'open' : 'reported',
  }
}
