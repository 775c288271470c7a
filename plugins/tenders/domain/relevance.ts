import table from '../data/energy-cpv.json' with { type: 'json' }
import type { Notice } from '../model.ts'
import type { Label } from './enums.ts'

/** Relevance of a notice for energy suppliers, 0 to 100, with its reasons. */
export interface Relevance {
  readonly score: number
  readonly label: Label | null
  readonly sector: string | null
  readonly breakdown: {
    readonly scoring_version: string
    readonly cpv: number
    readonly activity: number
    readonly words: number
    readonly directive: number
    /** Applied rule; null if the sum is unchanged. `unclear`: limited, its deadline is no date. */
    readonly rule: 'floor' | 'cap' | 'unclear' | null
    readonly matched_cpv: string | null
    readonly matched_words: readonly string[]
  }
}

interface Weight {
  readonly weight: number
  readonly sector: string
}

const WEIGHTS: Readonly<Record<string, Weight>> = table.prefixes
const ACTIVITIES: ReadonlySet<string> = new Set([
  'electricity',
  'gas-heat',
  'gas-oil',
  'solid-fuel',
])
const UTILITIES = /^32014L0025$/
const POINTS = { main: 70, additional: 35, activity: 15, words: 10, directive: 5 } as const
const FLOOR = 55
const CAP = 15
/** Minimum score of tenders in the feed. */
export const SCORE_MIN = 20

/** Returns the weight of a code's longest known prefix; undefined if not energy-related. */
function weightOf(code: string): Weight | undefined {
  for (let length = code.length; length >= 2; length -= 1) {
    const found = WEIGHTS[code.slice(0, length)]
    if (found) return found.weight > 0 ? found : undefined
  }
  return undefined
}

export function relevanceOf(notice: Notice): Relevance {
  const mains = [notice.cpv.main, ...notice.lots.map(({ cpv }) => cpv.main)]
  const others = [...notice.cpv.additional, ...notice.lots.flatMap(({ cpv }) => cpv.additional)]
  const best = [
    ...weighed(
      mains.filter((code) => code !== null),
      POINTS.main,
    ),
    ...weighed(others, POINTS.additional),
  ].reduce<Weighed | undefined>(
    (top, each) => (top && top.points >= each.points ? top : each),
    undefined,
  )
  const isActive = notice.activities.some((activity) => ACTIVITIES.has(activity))
  const hasWords = notice.energyWords.length > 0
  const activity = isActive ? POINTS.activity : 0
  const words = hasWords ? POINTS.words : 0
  const directive = isActive && UTILITIES.test(notice.legalBasis ?? '') ? POINTS.directive : 0
  const sum = (best?.points ?? 0) + activity + words + directive
  const floor = best && isActive && hasWords ? FLOOR : 0
  const score = best ? Math.min(100, Math.max(sum, floor)) : Math.min(CAP, sum)
  const rounded = Math.round(score * 10) / 10
  return {
    score: rounded,
    label: labelOf(rounded),
    sector: best?.sector ?? null,
    breakdown: {
      scoring_version: table.version,
      cpv: Math.round((best?.points ?? 0) * 10) / 10,
      activity,
      words,
      directive,
      rule: best ? (floor > sum ? 'floor' : null) : sum > CAP ? 'cap' : null,
      matched_cpv: best?.code ?? null,
      matched_words: notice.energyWords,
    },
  }
}

/** Limits the score of a call whose deadline cannot be read. */
export function unclear(relevance: Relevance): Relevance {
  const score = Math.min(relevance.score, LABEL_MIN.medium - 1)
  const breakdown = { ...relevance.breakdown, rule: 'unclear' } as const
  return { ...relevance, score, label: labelOf(score), breakdown }
}

interface Weighed {
  readonly code: string
  readonly points: number
  readonly sector: string
}

const weighed = (codes: readonly string[], points: number): Weighed[] =>
  codes.flatMap((code) => {
    const found = weightOf(code)
    return found ? [{ code, points: points * found.weight, sector: found.sector }] : []
  })

/** Minimum score of each label. */
export const LABEL_MIN: Readonly<Record<Label, number>> = { high: 70, medium: 40, low: SCORE_MIN }

export const labelOf = (score: number): Label | null =>
  score >= LABEL_MIN.high
    ? 'high'
    : score >= LABEL_MIN.medium
      ? 'medium'
      : score >= LABEL_MIN.low
        ? 'low'
        : null
