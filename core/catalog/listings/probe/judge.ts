import type { EgressCode, EgressError } from '../../../egress/errors.ts'
import type { EgressResponse } from '../../../egress/http.ts'
import {
  chooseTerms,
  decodeJson,
  isJson,
  type Offer,
  PaymentTermsError,
  parseOffer,
  type Terms,
} from '../../../payments/paying/terms.ts'
import { type Described, schemasOf, usageOf } from '../discovery/normalise.ts'
import { type JudgedOffer, judgeOffer, judgeOffers, type Offers } from '../discovery/offers.ts'
import type { Reason } from '../reasons.ts'

/** What an answer to an unpaid request says. */
export interface Verdict {
  readonly outcome: 'up' | Reason
  readonly status: number | undefined
  /** Seconds after which the host wants to be asked again. */
  readonly retryAfter?: number
  /** Version of x402 of a valid offer. */
  readonly version?: 1 | 2
  /** Set when it is up. */
  readonly offers?: Offers
  /** Each entry of the offer, in its order. */
  readonly entries?: readonly JudgedOffer[]
  /** Why the hub would not pay it, though it is up. */
  readonly notPayable?: string
  readonly described?: Described
}

/**
 * Judges an answer to a request that brought no payment. A 402 with an offer that somebody can pay
 * is up, whatever else the answer says; whether the hub itself pays it is judged by the very rules
 * by which it buys. Pure.
 */
export function judgeAnswer(response: EgressResponse, url: string): Verdict {
  const { status } = response
  if (status !== 402) {
    const seconds = Number(response.headers['retry-after'])
    const wait = Number.isSafeInteger(seconds) && seconds > 0 ? { retryAfter: seconds } : {}
    return { outcome: reasonOf(status), status, ...wait }
  }
  let offer: Offer
  try {
    offer = parseOffer(response)
  } catch (error) {
    if (!(error instanceof PaymentTermsError)) throw error
    const outcome = error.reason === 'no_offer' ? 'no_offer' : 'malformed_offer'
    return { outcome, status }
  }
  return { status, ...judgeParsed(offer, response, url) }
}

function judgeParsed(offer: Offer, response: EgressResponse, url: string): Omit<Verdict, 'status'> {
  const entries = offer.entries.map(judgeOffer)
  const offers = judgeOffers(offer.entries)
  if (typeof offers === 'string') return { outcome: offers, entries }
  const buying = buyingTerms(offer, new URL(url).hostname)
  if (buying === 'resource') return { outcome: 'resource', entries }
  const payable = typeof buying !== 'string'
  const all = offers.map((one) => ({
    ...one,
    payable: payable && one.payTo === buying.payTo && one.price === buying.amount,
  }))
  const [first, ...rest] = all.sort((a, b) => Number(b.payable) - Number(a.payable))
  return {
    outcome: 'up',
    version: offer.version,
    offers: [first!, ...rest],
    entries,
    ...(payable ? {} : { notPayable: buying }),
    described: describedBy(offer, response),
  }
}

/** The terms that the hub would sign, or why it would not. */
function buyingTerms(offer: Offer, host: string): Terms | string {
  try {
    return chooseTerms(offer, { host, maxAmount: 1n << 62n, ownWallets: [] })
  } catch (error) {
    if (!(error instanceof PaymentTermsError)) throw error
    return error.reason === 'resource' ? 'resource' : error.message
  }
}

/** What the offer says of the resource: in the header of version 2, or the body of version 1. */
function describedBy(offer: Offer, { headers, body }: EgressResponse): Described {
  const header = headers['payment-required']
  const envelope =
    typeof header === 'string' ? decodeJson(header) : JSON.parse(body.toString('utf8'))
  const whole = isJson(envelope) ? envelope : {}
  const resource = isJson(offer.resource) ? offer.resource : {}
  const entry = offer.entries.find((one) => typeof one['description'] === 'string') ?? {}
  return {
    name: resource['serviceName'],
    description: resource['description'] ?? entry['description'],
    tags: resource['tags'],
    ...schemasOf(usageOf({ ...whole, accepts: offer.entries })),
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

const FAILURES: Readonly<Record<EgressCode, Reason>> = {
  validation_failed: 'malformed_url',
  destination_not_allowed: 'destination',
  upstream_unreachable: 'unreachable',
  upstream_timeout: 'timeout',
  upstream_tls: 'tls',
  upstream_too_large: 'too_large',
  upstream_redirect: 'redirect',
  upstream_error: 'server_error',
}

/** What it means that no whole answer came. A large answer that asks for no payment is no 402. */
export const judgeFailure = ({ code, response }: EgressError): Verdict => {
  const status = response?.status
  const isFree = status !== undefined && status >= 200 && status < 300
  return { outcome: isFree ? 'not_asked' : FAILURES[code], status }
}
