import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Fault } from '../errors.ts'
import { networkOf } from './network.ts'

/** Requests per minute of a key (specification §8). */
export const TIERS = { free: 100, paid: 1_000 } as const
export type Tier = keyof typeof TIERS
/** Requests per minute of a network that shows no key: enough to browse and to read offers. */
const KEYLESS_PER_MINUTE = 300
const REGISTRATIONS_PER_HOUR = 100
const MINUTE_SECONDS = 60

/** What the answer says about the caller's limit, in headers. */
export interface RateState {
  readonly headers: Readonly<Record<string, string>>
}

const perMinute = (points: number, keyPrefix: string): RateLimiterMemory =>
  new RateLimiterMemory({ points, duration: MINUTE_SECONDS, keyPrefix })

/** Counts requests in this process: fixed windows of a minute for each key or address. */
export class RateLimits {
  readonly #tiers = { free: perMinute(TIERS.free, 'free'), paid: perMinute(TIERS.paid, 'paid') }
  readonly #keyless = perMinute(KEYLESS_PER_MINUTE, 'keyless')
  readonly #registrations = new RateLimiterMemory({
    points: REGISTRATIONS_PER_HOUR,
    duration: 3_600,
    keyPrefix: 'registrations',
  })

  /** @throws Fault `rate_limited` */
  key(keyId: string, tier: Tier): Promise<RateState> {
    return take(this.#tiers[tier], keyId, tier)
  }

  /** @throws Fault `rate_limited` */
  address(ip: string): Promise<RateState> {
    return take(this.#keyless, networkOf(ip), 'keyless')
  }

  /** @throws Fault `rate_limited` */
  registration(ip: string): Promise<RateState> {
    return take(this.#registrations, networkOf(ip), 'registration')
  }
}

async function take(limiter: RateLimiterMemory, key: string, policy: string): Promise<RateState> {
  try {
    return { headers: headersOf(limiter, await limiter.consume(key), policy) }
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused
    const headers = headersOf(limiter, refused, policy)
    throw new Fault('rate_limited', undefined, {
      headers: { ...headers, 'Retry-After': headers['X-RateLimit-Reset']! },
    })
  }
}

/** draft-ietf-httpapi-ratelimit-headers-11, and the older names that clients still read. */
function headersOf(
  limiter: RateLimiterMemory,
  { remainingPoints, msBeforeNext }: RateLimiterRes,
  policy: string,
): Record<string, string> {
  const seconds = Math.ceil(msBeforeNext / 1_000)
  return {
    'RateLimit-Policy': `"${policy}";q=${limiter.points};w=${limiter.duration}`,
    RateLimit: `"${policy}";r=${remainingPoints};t=${seconds}`,
    'X-RateLimit-Limit': String(limiter.points),
    'X-RateLimit-Remaining': String(remainingPoints),
    'X-RateLimit-Reset': String(seconds),
  }
}
