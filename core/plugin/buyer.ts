import type { Micros } from '../money.ts'
import type { Call, Quote, Reply, Taken, Unresolved } from './index.ts'

/** What the house's own plugin of external sellers is lent. Exported by plugin.ts. */

/** A request to somebody else's API that asks for payment by x402 (specification §2.4). */
export interface ExternalRequest {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown
  /** The most that it may cost; left out, what the seller is listed at, if it is. */
  readonly max_price_microdollars?: number
}

/** Buys from external sellers with the platform's wallet. */
export interface Buyer {
  /** The most that a single purchase may cost, in microdollars. */
  readonly maxAmount: Micros
  /** Asks the seller for its price. Nothing is paid. */
  readonly quote: (request: ExternalRequest) => Promise<Quote>
  /** Pays, at most once for each call, and answers what the seller answered. */
  readonly pay: (
    call: Pick<Call<ExternalRequest>, 'id' | 'input' | 'payer' | 'terms' | 'park'>,
  ) => Promise<Reply | Unresolved | Taken>
}
