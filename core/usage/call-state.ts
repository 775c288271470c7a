import type { CallRecord } from './call-records.ts'

/** State of a call, the same for its caller and for finance. */
export const CALL_STATES = ['held', 'charged', 'released', 'expired', 'refunded'] as const
export type CallState = (typeof CALL_STATES)[number]

const BY_KIND: Readonly<Record<number, CallState>> = { 2: 'charged', 3: 'released', 4: 'expired' }
const BY_OUTCOME: Readonly<Record<CallRecord['outcome'], CallState>> = {
  delivered: 'charged',
  taken: 'charged',
  failed: 'released',
  unresolved: 'held',
}

export interface CallEvidence {
  /** Kind of the journal entry that resolved the hold; null: none yet. Undefined: no hold. */
  readonly resolution: number | null | undefined
  /** Recorded outcome; undefined if no record is written yet. */
  readonly outcome: CallRecord['outcome'] | undefined
  /** Microdollars refunded after the charge. */
  readonly refunded: bigint
}

/** Derives the state: the journal decides, or else the record of the call. */
export function callState({ resolution, outcome, refunded }: CallEvidence): CallState {
  if (refunded > 0n) return 'refunded'
  if (resolution !== undefined) return BY_KIND[resolution ?? 0] ?? 'held'
  return outcome === undefined ? 'held' : BY_OUTCOME[outcome]
}
