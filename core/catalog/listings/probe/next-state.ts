import type { Reason } from '../reasons.ts'

export type ListingState = 'active' | 'degraded' | 'down' | 'unlisted'

/** Listing before a probe. */
export interface StateBefore {
  readonly state: ListingState
  /** Consecutive failures. */
  readonly failures: number
  /** True if a probe has ever seen a valid offer. */
  readonly verified: boolean
  /** True if a source still lists it, or its owner has submitted it. */
  readonly claimed: boolean
  /** Failures among its last ten probes. */
  readonly recentFailures: number
  /** Days since it was last up, or first seen. */
  readonly daysDead: number
  /** Listings of its host that are probed. */
  readonly hostListings: number
}

/** Listing after a probe. */
export interface NextState {
  readonly state: ListingState
  readonly reason: Reason | null
  readonly failures: number
  /** Seconds until the next probe; null for none. */
  readonly againSeconds: number | null
  readonly removed: boolean
}

/** Consecutive failures after which a listing is down. */
const DOWN_AFTER = 3
/** Failures among the last ten probes from which a listing that is up counts as degraded. */
const DEGRADED_FROM = 3
const HOUR_SECONDS = 3_600
/** Seconds of a host's time per listing: a host with more than 120 is sampled, in turn. */
const SECONDS_PER_LISTING = 30
const FIRST_RETRY_SECONDS = 300
const RETRY_MAX_SECONDS = 7 * 24 * HOUR_SECONDS
/** Days after which a dead listing without a source is removed. */
const DEAD_DAYS = 14

/**
 * Computes the next state of a listing and the time of its next probe. A listing that is up is
 * probed every hour, or 120 per hour of a host that has more; a failing one after 5 minutes, then
 * after triple the time, up to a week. Pure.
 * @param chance random number from 0 to 1 that varies the interval by ±10 %
 */
export function nextState(
  before: StateBefore,
  outcome: 'up' | Reason,
  { chance, retryAfter = 0 }: { readonly chance: number; readonly retryAfter?: number },
): NextState {
  const jitter = (seconds: number): number => Math.ceil(seconds * (0.9 + chance / 5))
  if (outcome === 'up') {
    const shaky = before.recentFailures >= DEGRADED_FROM
    const state = shaky ? 'degraded' : 'active'
    const reason = shaky ? 'unsteady' : null
    const pause = Math.max(HOUR_SECONDS, before.hostListings * SECONDS_PER_LISTING)
    return { state, reason, failures: 0, againSeconds: jitter(pause), removed: false }
  }
  if (outcome === 'rate_limited') {
    // Shows nothing about the resource, only that the hub should probe less often.
    const wait = Math.min(RETRY_MAX_SECONDS, Math.max(retryAfter, 2 * HOUR_SECONDS))
    const reason = before.state === 'active' ? null : outcome
    return {
      state: before.state,
      reason,
      failures: before.failures,
      againSeconds: jitter(wait),
      removed: false,
    }
  }
  const failures = before.failures + 1
  const pause =
    outcome === 'robots' ? 24 * HOUR_SECONDS : FIRST_RETRY_SECONDS * 3 ** Math.min(failures - 1, 10)
  const removed = !before.claimed && before.daysDead >= DEAD_DAYS && failures >= DOWN_AFTER
  if (removed) {
    return { state: 'unlisted', reason: 'delisted', failures, againSeconds: null, removed }
  }
  const againSeconds = jitter(Math.min(RETRY_MAX_SECONDS, pause))
  return {
    state: stateAfter(before, outcome, failures),
    reason: outcome,
    failures,
    againSeconds,
    removed,
  }
}

function stateAfter(before: StateBefore, outcome: Reason, failures: number): ListingState {
  if (!before.verified || outcome === 'robots') return 'unlisted'
  return failures >= DOWN_AFTER || before.state === 'down' ? 'down' : 'degraded'
}
