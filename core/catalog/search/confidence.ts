import { wordVectors } from './meaning/word-vectors.ts'
import type { ScoredCandidate } from './scored-candidate.ts'
import type { MatchVariant, QueryTerms } from './terms.ts'

/** Hits that are examined; one that fits suffices. */
const EXAMINED = 5
/**
 * Fit from which a hit counts: the share of the query that it contains, plus half of the share that
 * its name or tags contain. Both numbers come from a logistic regression on judged queries.
 */
const FIT = { min: 0.7, named: 0.5 } as const
/** English rank at which a word has half the mass of a rare one. */
const HALF_MASS_RANK = 250
/** Factor for the rarity of a word that no document contains. */
const ABSENT_FACTOR = 1.4
/** Factor for a word that matches only as another spelling. */
const CORRECTED_FACTOR = 0.75

/** Returns true if no hit contains enough of what the query asks for. Pure. */
export const isLowConfidence = (hits: readonly ScoredCandidate[], terms: QueryTerms): boolean =>
  hits.length > 0 &&
  terms.parts.length > 0 &&
  hits.slice(0, EXAMINED).every((hit) => !hit.candidate.exact && fitOf(hit, terms) < FIT.min)

/** Portions of a query, by weight and mass of its words. */
interface Portions {
  readonly contained: number
  /** Portion that name or tags contain. */
  readonly named: number
}

function fitOf({ candidate, variants }: ScoredCandidate, terms: QueryTerms): number {
  const matched = new Set<MatchVariant>(variants)
  const isNamed = (variant: MatchVariant): boolean =>
    variant.terms.every((term) => {
      const fields = candidate.places.get(term)?.fields ?? ''
      return fields.includes('A') || fields.includes('B')
    })
  const portionsOf = (variant: MatchVariant | undefined, mass: number): Portions => {
    if (variant === undefined) return NOTHING
    const contained = mass * variant.weight * (variant.isCorrected ? CORRECTED_FACTOR : 1)
    return { contained, named: isNamed(variant) ? contained : 0 }
  }
  let total = 0
  let sum = NOTHING
  for (const { weight, words, alternatives } of terms.parts) {
    const masses = words.map((each) => weight * massOf(each, terms))
    const mass = masses.reduce((all, each) => all + each, 0)
    const whole = portionsOf(
      alternatives.find((variant) => matched.has(variant)),
      mass,
    )
    const single = words
      .map((each, i) =>
        portionsOf(
          each.find((variant) => matched.has(variant)),
          masses[i]!,
        ),
      )
      .reduce(plus, NOTHING)
    total += mass
    sum = plus(sum, whole.contained > single.contained ? whole : single)
  }
  return total === 0 ? 1 : (sum.contained + FIT.named * sum.named) / total
}

const NOTHING: Portions = { contained: 0, named: 0 }

const plus = (a: Portions, b: Portions): Portions => ({
  contained: a.contained + b.contained,
  named: a.named + b.named,
})

/**
 * Rarity of a word among the documents, less if it is frequent in English; 0 for a stop word, which
 * has no terms.
 */
function massOf(variants: readonly MatchVariant[], { idf, absentIdf }: QueryTerms): number {
  const own = variants.find(({ isCorrected }) => !isCorrected)
  if (!own) return 0
  const rarity = Math.max(0, ...own.terms.map((term) => idf.get(term) ?? 0))
  const rank = wordVectors().rankOf(own.terms[0]!) ?? Number.MAX_SAFE_INTEGER
  return ((rarity || absentIdf * ABSENT_FACTOR) * rank) / (rank + HALF_MASS_RANK)
}
