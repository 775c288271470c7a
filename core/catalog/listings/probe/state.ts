import type { Reason } from '../reasons.ts'

export type ListingState = 'active' | 'degraded' | 'down' | 'unlisted'

/** What a listing was before a probe. */
export interface Standing {
  readonly state: ListingState
  /** Failures in a row. */
  readonly failures: number
  /** Whether any probe has seen a valid offer. */
  readonly verified: boolean
  /** Whether a source names it still, or its owner has submitted it. */
  readonly claimed: boolean
  /** Of its last ten probes, those that failed. */
  readonly recentFailures: number
  /** Days since it was last seen up, or first seen at all. */
  readonly daysDead: number
}

/** What it is afterwards. */
export interface Next {
  readonly state: ListingState
  readonly reason: Reason | null
  readonly failures: number
  /** Seconds until the next probe; null: none. */
  readonly againSeconds: number | null
  readonly removed: boolean
}

/** So many failures in a row are more than bad luck. */
const DOWN_AFTER = 3
/** Failures of the last ten probes, from which a listing that is up counts as unreliable. */
const SHAKY_FROM = 3
const HOUR = 3_600
const FIRST_RETRY = 300
const SLOWEST = 7 * 24 * HOUR
/** After so long a listing that nobody names any more is taken out. */
const DEAD_DAYS = 14

/**
 * The next state of a listing and when to look again. A listing that is up is probed every hour;
 * one that fails after 5 minutes, then three times later each time, up to a week. Pure.
 * @param chance from 0 to 1: spreads probes by a tenth to either side
 */
export function nextState(
  before: Standing,
  outcome: 'up' | Reason,
  { chance, retryAfter = 0 }: { readonly chance: number; readonly retryAfter?: number },
): Next {
  const jitter = (seconds: number): number => Math.ceil(seconds * (0.9 + chance / 5))
  if (outcome === 'up') {
    const shaky = before.recentFailures >= SHAKY_FROM
    const state = shaky ? 'degraded' : 'active'
    const reason = shaky ? 'unsteady' : null
    return { state, reason, failures: 0, againSeconds: jitter(HOUR), removed: false }
  }
  if (outcome === 'rate_limited') {
    // It says nothing about the resource, but much about how often we come.
    const wait = Math.min(SLOWEST, Math.max(retryAfter, 2 * HOUR))
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
  const pause = outcome === 'robots' ? 24 * HOUR : FIRST_RETRY * 3 ** Math.min(failures - 1, 10)
  const removed = !before.claimed && before.daysDead >= DEAD_DAYS && failures >= DOWN_AFTER
  if (removed) {
    return { state: 'unlisted', reason: 'delisted', failures, againSeconds: null, removed }
  }
  const againSeconds = jitter(Math.min(SLOWEST, pause))
  return {
    state: stateAfter(before, outcome, failures),
    reason: outcome,
    failures,
    againSeconds,
    removed,
  }
}

function stateAfter(before: Standing, outcome: Reason, failures: number): ListingState {
  if (!before.verified || outcome === 'robots') return 'unlisted'
  return failures >= DOWN_AFTER || before.state === 'down' ? 'down' : 'degraded'
}
