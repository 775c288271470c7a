import type { Change } from './change.ts'
import type { Event, Signal, Verification } from './enums.ts'
import type { Difference } from './facts.ts'

/** A detected change before its evidence is added. */
export interface DetectedChange {
  readonly difference: Difference
  readonly event: Event
  readonly signal: Signal
  readonly verification: Verification
  readonly method: Change['evidence']['method']
  readonly lotIds: readonly string[]
  /** Lots that the buyer names and that cannot be identified. */
  readonly lotText?: string
}
