import { wordVectors } from './meaning/word-vectors.ts'
import type { ScoredCandidate } from './scored-candidate.ts'
import type { MatchVariant, QueryTerms } from './terms.ts'

/** Hits that are examined; one that fits suffices. */
const EXAMINED = 5
/** Share of the query, by the rarity of its words, that the best fitting hit must contain. */
const SHARE_MIN = 0.5
/** Cosine of query and hit from which their meanings are close, and its weight. */
const CLOSE_FROM = 0.7
const MEANING_WEIGHT = 0.5
/** Factor for the rarity of a word of no document; half of it at this English rank. */
const ABSENT = { factor: 1.6, halfRank: 1_500 } as const
/** Factor for a word that matches only as another spelling. */
const CORRECTED_FACTOR = 0.75

/** Returns true if no hit contains enough of what the query asks for. Pure. */
export const isLowConfidence = (hits: readonly ScoredCandidate[], terms: QueryTerms): boolean =>
  hits.length > 0 &&
  terms.parts.length > 0 &&
  hits.slice(0, EXAMINED).every((hit) => !hit.candidate.exact && fitOf(hit, terms) < SHARE_MIN)

/** Share of the query that a hit contains, and more if its meaning is close to the query's. */
const fitOf = (hit: ScoredCandidate, terms: QueryTerms): number =>
  sharedWith(hit, terms) + MEANING_WEIGHT * Math.max(0, (hit.closeness ?? 0) - CLOSE_FROM)

/** Share of the query that a hit contains, by weight and rarity of its words. */
function sharedWith({ variants }: ScoredCandidate, terms: QueryTerms): number {
  const matched = new Set<MatchVariant>(variants)
  let total = 0
  let shared = 0
  for (const { weight, words, alternatives } of terms.parts) {
    const masses = words.map((each) => massOf(each, terms))
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

/**
 * Rarity of a word; 0 for a stop word, which has no terms. A word that no document contains counts
 * most, unless it is a frequent word of English.
 */
function massOf(variants: readonly MatchVariant[], { idf, absentIdf }: QueryTerms): number {
  const own = variants.find(({ isCorrected }) => !isCorrected)
  if (!own) return 0
  const mass = Math.max(0, ...own.terms.map((term) => idf.get(term) ?? 0))
  if (mass > 0) return mass
  const rank = wordVectors().rankOf(own.terms[0]!) ?? Number.MAX_SAFE_INTEGER
  return (absentIdf * ABSENT.factor * rank) / (rank + ABSENT.halfRank)
}

const worth = (variant: MatchVariant | undefined): number =>
  variant === undefined ? 0 : variant.weight * (variant.isCorrected ? CORRECTED_FACTOR : 1)
