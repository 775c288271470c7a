import { Fault } from '../errors.ts'
import { ttlCache } from '../runtime/cache.ts'

/** Failed attempts of one network per window, before its unknown credentials are limited. */
export const ATTEMPTS_MAX = 60
/** Failed attempts of all networks per window, before every unknown credential is checked. */
export const ATTEMPTS_TOTAL_MAX = 1_000
const WINDOW_MS = 60_000
const NETWORKS_MAX = 20_000
/** Stands for all networks together. */
const ALL = '*'

/** Counts failed authentications by network, for this process, in fixed windows of a minute. */
export class FailedAttempts {
  readonly #counts

  /** @param now see `TtlOptions` */
  constructor(now?: () => number) {
    const options = { ttlMs: WINDOW_MS, max: NETWORKS_MAX, now }
    this.#counts = ttlCache<string, { failures: number }>(options)
  }

  /** Counts a failed attempt. The first one starts a window. */
  record(network: string): void {
    for (const name of [network, ALL]) {
      const count = this.#counts.get(name)
      if (count) count.failures++
      else this.#counts.set(name, { failures: 1 })
    }
  }

  /** Returns true if many attempts failed in total, perhaps of one attacker with many networks. */
  get areMany(): boolean {
    return (this.#counts.get(ALL)?.failures ?? 0) >= ATTEMPTS_TOTAL_MAX
  }

  isLimited(network: string): boolean {
    return (this.#counts.get(network)?.failures ?? 0) >= ATTEMPTS_MAX
  }

  /** Returns the refusal of a limited network. */
  refusal(network: string): Fault {
    const leftMs = this.#counts.getRemainingTTL(network)
    const seconds = String(Math.max(1, Math.ceil(leftMs / 1_000)))
    return new Fault('authentication_limited', undefined, { headers: { 'Retry-After': seconds } })
  }
}
