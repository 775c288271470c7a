import type { ScoredCandidate } from './scored-candidate.ts'
import type { MatchVariant, QueryTerms } from './terms.ts'

/** Hits that are examined; one that fits suffices. */
const EXAMINED = 5
/** Share of the query's words that the best fitting hit must contain. */
const SHARE_MIN = 0.4
/** Worth of a word that matches only as another spelling. */
const CORRECTED_WORTH = 0.5

/** Returns true if no hit contains enough of what the query asks for. Pure. */
export const isLowConfidence = (hits: readonly ScoredCandidate[], terms: QueryTerms): boolean =>
  hits.length > 0 &&
  terms.parts.length > 0 &&
  hits.slice(0, EXAMINED).every((hit) => !hit.candidate.exact && sharedWith(hit, terms) < SHARE_MIN)

/** Share of the query's words that a hit contains, by weight. */
function sharedWith({ variants }: ScoredCandidate, { parts }: QueryTerms): number {
  const matched = new Set<MatchVariant>(variants)
  let weight = 0
  let shared = 0
  for (const part of parts) {
    const whole = part.alternatives.find((variant) => matched.has(variant))
    const words = part.words.map((each) => each.find((variant) => matched.has(variant)))
    const found = words.reduce((sum, variant) => sum + worth(variant), 0)
    weight += part.weight * part.words.length
    shared += part.weight * (whole ? part.words.length * whole.weight : found)
  }
  return weight === 0 ? 1 : shared / weight
}

const worth = (variant: MatchVariant | undefined): number =>
  variant === undefined ? 0 : variant.isCorrected ? CORRECTED_WORTH : variant.weight
