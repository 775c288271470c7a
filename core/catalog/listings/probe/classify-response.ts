import { systemClock } from '../../../clock.ts'
import type { EgressCode, EgressError } from '../../../egress/errors.ts'
import type { EgressResponse } from '../../../egress/http.ts'
import { isJsonObject } from '../../../json.ts'
import { type JudgedOffer, judgeOffers } from '../../../payments/paying/choose-payment.ts'
import { decodeJson, type Offer } from '../../../payments/paying/offer.ts'
import { retryAfterSeconds } from '../../../retry-after.ts'
import { type ResourceDescription, readSchemas, readUsage } from '../discovery/normalize.ts'
import {
  checkOffer,
  checkOffers,
  METERED,
  type NonEmptyOffers,
  type OfferCheck,
} from '../discovery/offers.ts'
import type { Reason } from '../reasons.ts'

/** Result of an unpaid request. */
export interface ProbeVerdict {
  readonly outcome: 'up' | Reason
  readonly status: number | undefined
  /** Seconds from the Retry-After header. */
  readonly retryAfter?: number | undefined
  /** x402 version of a valid offer. */
  readonly version?: 1 | 2
  /** Set if the seller takes MPP alone. */
  readonly protocol?: 'mpp'
  /** Set if it is up. */
  readonly offers?: NonEmptyOffers
  /** Checked entries of the offer, in their order. */
  readonly entries?: readonly OfferCheck[]
  /** Reason why the hub would not pay it, although it is up. */
  readonly notPayable?: string
  readonly description?: ResourceDescription
}

/**
 * Classifies the response to an unpaid request. A 402 with an offer that any client can pay is up.
 * The rules of the hub's own purchases decide if it would pay.
 * @param buysMetered true if the hub pays metered prices
 */
export function classifyResponse(
  response: EgressResponse,
  url: string,
  buysMetered = false,
): ProbeVerdict {
  const { status } = response
  if (status !== 402) {
    const retryAfter = retryAfterSeconds(response.headers)
    return { outcome: reasonOf(status), status, retryAfter }
  }
  const { hostname: host } = new URL(url)
  const policy = { host, maxAmount: 1n << 62n, ownWallets: [], buysMetered }
  const judged = judgeOffers(response, policy, systemClock.now())
  const { offer, error } = judged
  if (offer) return { status, ...classifyOffer(offer, judged, response) }
  const outcome = error?.reason === 'no_offer' ? 'no_offer' : 'malformed_offer'
  return { outcome, status }
}

function classifyOffer(
  offer: Offer,
  { terms, error }: JudgedOffer,
  response: EgressResponse,
): Omit<ProbeVerdict, 'status'> {
  const entries = offer.entries.map(checkOffer)
  const offers = checkOffers(offer.entries)
  if (typeof offers === 'string') return { outcome: offers, entries }
  if (error?.reason === 'resource') return { outcome: 'resource', entries }
  const all = offers.map((one) => ({
    ...one,
    payable:
      one.payTo === terms?.payTo &&
      one.price === terms.amount &&
      (one.scheme === METERED) === (terms.facilitator !== undefined),
  }))
  const [first, ...rest] = all.sort((a, b) => Number(b.payable) - Number(a.payable))
  return {
    outcome: 'up',
    ...(offer.challenges ? { protocol: 'mpp' as const } : { version: offer.version }),
    offers: [first!, ...rest],
    entries,
    ...(error && { notPayable: error.message }),
    description: describedBy(offer, response),
  }
}

/** Reads the resource's description: in a header (x402 version 2) or in the body (version 1). */
function describedBy(offer: Offer, { headers, body }: EgressResponse): ResourceDescription {
  if (offer.challenges) return {}
  const header = headers['payment-required']
  const envelope =
    typeof header === 'string' ? decodeJson(header) : JSON.parse(body.toString('utf8'))
  const whole = isJsonObject(envelope) ? envelope : {}
  const resource = isJsonObject(offer.resource) ? offer.resource : {}
  const entry = offer.entries.find((one) => typeof one['description'] === 'string') ?? {}
  return {
    name: resource['serviceName'],
    description: resource['description'] ?? entry['description'],
    tags: resource['tags'],
    ...readSchemas(readUsage({ ...whole, accepts: offer.entries })),
  }
}

function reasonOf(status: number): Reason {
  if (status >= 200 && status < 300) return 'not_asked'
  if (status === 404 || status === 410) return 'not_found'
  if (status === 405) return 'wrong_method'
  if (status === 429) return 'rate_limited'
  if (status >= 500) return 'server_error'
  return status < 400 ? 'redirect' : 'refuses'
}

const FAILURE_REASONS: Readonly<Record<EgressCode, Reason>> = {
  validation_failed: 'malformed_url',
  destination_not_allowed: 'destination',
  upstream_unreachable: 'unreachable',
  upstream_timeout: 'timeout',
  upstream_tls: 'tls',
  upstream_too_large: 'too_large',
  upstream_redirect: 'redirect',
  upstream_error: 'server_error',
}

/** Classifies a failed request. A too large 2xx response asked for no payment. */
export const classifyFailure = ({ code, response }: EgressError): ProbeVerdict => {
  const status = response?.status
  const isFree = status !== undefined && status >= 200 && status < 300
  return { outcome: isFree ? 'not_asked' : FAILURE_REASONS[code], status }
}
