import { Fault, type FaultCode } from '../errors.ts'
import type { Caller } from '../identity/keys.ts'
import { networkPrefix, sitePrefix } from './network.ts'
import type { Windows } from './windows.ts'

/** Requests per minute of a main key and its sub-keys, by tier. */
export const REQUESTS_PER_MINUTE = { free: 100, paid: 1_000 } as const
export type Tier = keyof typeof REQUESTS_PER_MINUTE

const WAIT = 'Wait for the seconds given in Retry-After.'
/** Advice to a key without a custom rate. */
const ADVICE: Readonly<Record<Tier, string>> = {
  free:
    `${WAIT} With credits (POST /v1/credits/purchase) a key may send ` +
    `${REQUESTS_PER_MINUTE.paid} requests per minute instead of ${REQUESTS_PER_MINUTE.free}.`,
  paid: `${WAIT} Ask for a higher rate limit: POST /v1/rate-requests.`,
}

/** Limit of requests per window. */
interface Policy {
  readonly name: string
  readonly limit: number
  readonly seconds: number
  /** Error code of a refused request. @defaultValue rate_limited */
  readonly fault?: FaultCode
  readonly advice?: string
}

/** Limit of a network without a key: enough to browse and to read offers. */
const KEYLESS: Policy = { name: 'keyless', limit: 300, seconds: 60 }
const REGISTRATION: Policy = {
  name: 'registration',
  limit: 100,
  seconds: 3_600,
  fault: 'registration_rate_limited',
}

/** Number of /64 networks whose limits together apply to an IPv6 /48. */
const SITE_NETWORKS = 16

/** Response headers about the caller's limit. */
export interface RateState {
  readonly headers: Readonly<Record<string, string>>
}

/** Enforces rate limits. `Windows` decides which processes share the counts. */
export class RateLimits {
  readonly #windows: Windows
  readonly #onRefusal: (policy: string) => void

  /** @param onRefusal called for each refused request */
  constructor(windows: Windows, onRefusal: (policy: string) => void = () => {}) {
    this.#windows = windows
    this.#onRefusal = onRefusal
  }

  /**
   * Counts a request of a key; a main key and its sub-keys share one window. All tiers share it
   * too, and the current tier sets the limit.
   * @throws Fault `rate_limited`
   */
  key({ credits, ratePerMinute }: Caller, tier: Tier): Promise<RateState> {
    const own = ratePerMinute === null ? undefined : { name: 'custom', limit: ratePerMinute }
    const policy = own ?? { name: tier, limit: REQUESTS_PER_MINUTE[tier], advice: ADVICE[tier] }
    return this.#count(`key:${credits.id}`, { ...policy, seconds: 60 })
  }

  /** @throws Fault `rate_limited` */
  address(ip: string): Promise<RateState> {
    return this.#countNetwork('network', ip, KEYLESS)
  }

  /** @throws Fault `registration_rate_limited` */
  registration(ip: string): Promise<RateState> {
    return this.#countNetwork('registration', ip, REGISTRATION)
  }

  #countNetwork(kind: string, ip: string, policy: Policy): Promise<RateState> {
    const countNetwork = () => this.#count(`${kind}:${networkPrefix(ip)}`, policy)
    const site = sitePrefix(ip)
    if (site === undefined) return countNetwork()
    const sitePolicy = { ...policy, limit: policy.limit * SITE_NETWORKS }
    return this.#count(`${kind}:${site}::/48`, sitePolicy).then(countNetwork)
  }

  async #count(key: string, policy: Policy): Promise<RateState> {
    const { count, msLeft } = await this.#windows.count(key, policy.seconds)
    const left = Math.max(0, policy.limit - count)
    const secondsLeft = Math.max(1, Math.ceil(msLeft / 1_000))
    const headers = headersOf(policy, left, secondsLeft)
    if (count <= policy.limit) return { headers }
    this.#onRefusal(policy.name)
    const detail =
      `The limit "${policy.name}" allows ${policy.limit} requests in ${policy.seconds} seconds. ` +
      `It resets in ${secondsLeft} s.`
    throw new Fault(policy.fault ?? 'rate_limited', detail, {
      headers: { ...headers, 'Retry-After': headers['X-RateLimit-Reset'] },
      advice: policy.advice,
    })
  }
}

/** draft-ietf-httpapi-ratelimit-headers-11, and the older names that clients still read. */
const headersOf = ({ name, limit, seconds }: Policy, left: number, secondsLeft: number) => ({
  'RateLimit-Policy': `"${name}";q=${limit};w=${seconds}`,
  RateLimit: `"${name}";r=${left};t=${secondsLeft}`,
  'X-RateLimit-Limit': String(limit),
  'X-RateLimit-Remaining': String(left),
  'X-RateLimit-Reset': String(secondsLeft),
})
