import type { Micros } from '../money.ts'
import type { Call, Quote, Reply, Taken, Unresolved } from './call.ts'

/** Injected into the first-party plugin `external`; not part of the API promise. */

/** Request to an external API that requires payment by x402. */
export interface ExternalRequest {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent unchanged, any other value as JSON. */
  readonly body?: unknown
  /** Maximum price; default: the listed price of the seller, if any. */
  readonly max_price_microdollars?: number
  /** Payee address to accept although the seller had another one before. */
  readonly accept_pay_to?: string
}

/** Buys from external sellers with the platform's wallet. */
export interface Buyer {
  /** Maximum price of one purchase. */
  readonly maxAmount: Micros
  /** Requests the seller's price without paying. */
  readonly quote: (request: ExternalRequest) => Promise<Quote>
  /** Pays at most once per call, and returns the seller's response. */
  readonly pay: (
    call: Pick<Call<ExternalRequest>, 'id' | 'input' | 'payer' | 'terms' | 'park' | 'charge'>,
  ) => Promise<Reply | Unresolved | Taken>
}
