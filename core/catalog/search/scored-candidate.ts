import type { Candidate } from './check-draft.ts'
import type { Match } from './match.ts'

/** Candidate with its score. */
export interface ScoredCandidate extends Match {
  readonly candidate: Candidate
  /** True if it was moved up because it is new. */
  readonly isFeatured: boolean
  /** Number of near-duplicates of the same seller that it stands for. */
  readonly similar?: number | undefined
  /** Similarity to the query by the embedding API, −1 to 1, if known. */
  readonly similarity?: number | undefined
}
