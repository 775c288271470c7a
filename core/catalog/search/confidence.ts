import type { ScoredCandidate } from './scored-candidate.ts'
import type { MatchVariant, QueryTerms } from './terms.ts'

/** Hits that are examined; one that fits suffices. */
const EXAMINED = 5
/** Share of the query, by the rarity of its words, that the best fitting hit must contain. */
const SHARE_MIN = 0.5
/** Worth of a word that matches only as another spelling. */
const CORRECTED_WORTH = 0.5

/** Returns true if no hit contains enough of what the query asks for. Pure. */
export const isLowConfidence = (hits: readonly ScoredCandidate[], terms: QueryTerms): boolean =>
  hits.length > 0 &&
  terms.parts.length > 0 &&
  hits.slice(0, EXAMINED).every((hit) => !hit.candidate.exact && sharedWith(hit, terms) < SHARE_MIN)

/** Share of the query that a hit contains, by weight and rarity; absent words are the rarest. */
function sharedWith({ variants }: ScoredCandidate, { parts, idf }: QueryTerms): number {
  const matched = new Set<MatchVariant>(variants)
  const rarest = Math.max(0, ...idf.values())
  let total = 0
  let shared = 0
  for (const { weight, words, alternatives } of parts) {
    const masses = words.map((each) => massOf(each, idf, rarest))
    const sum = masses.reduce((all, mass) => all + mass, 0)
    const whole = alternatives.find((variant) => matched.has(variant))
    const found = words.reduce(
      (all, each, i) => all + masses[i]! * worth(each.find((variant) => matched.has(variant))),
      0,
    )
    total += weight * sum
    shared += weight * Math.max(whole ? sum * whole.weight : 0, found)
  }
  return total === 0 ? 1 : shared / total
}

/** Rarity of a word; 0 for a stop word, which has no terms. */
function massOf(variants: readonly MatchVariant[], idf: QueryTerms['idf'], rarest: number): number {
  const own = variants.find(({ isCorrected }) => !isCorrected)
  const mass = Math.max(0, ...(own?.terms ?? []).map((term) => idf.get(term) ?? 0))
  return own && mass === 0 ? rarest : mass
}

const worth = (variant: MatchVariant | undefined): number =>
  variant === undefined ? 0 : variant.isCorrected ? CORRECTED_WORTH : variant.weight
