import table from '../data/energy-cpv.json' with { type: 'json' }
import type { Notice } from '../model.ts'
import { energyWordsIn, isSpecific } from '../parse/energy-words.ts'
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
    readonly rule: 'floor' | 'title' | 'cap' | 'unclear' | null
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
/** Minimum scores if the title is about energy, whatever the codes. */
const TITLE = { ofUtility: 45, ofOthers: 25 } as const
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
  const isActive = notice.activities.some((activity) => ACTIVITIES.has(activity))
  const isTitled = titleWordsOf(notice).some((word) => isActive || isSpecific(word))
  const isSupported = isActive || isTitled || isSystem(notice)
  const best = bestCode(notice, isSupported ? 1 : UNSUPPORTED)
  const isEnergy = isActive || isTitled || (best !== undefined && best.points >= ENERGY_POINTS)
  const hasWords = notice.energyWords.length > 0
  const activity = isActive ? POINTS.activity : 0
  const words = hasWords && isEnergy ? POINTS.words : 0
  const directive = isActive && UTILITIES.test(notice.legalBasis ?? '') ? POINTS.directive : 0
  const sum = (best?.points ?? 0) + activity + words + directive
  const { rule, score } = applyLimits(sum, {
    hasCode: best !== undefined,
    floor: floorOf(notice, { isActive, isTitled, hasCode: best !== undefined }),
  })
  return {
    score,
    label: labelOf(score),
    sector: best?.sector ?? null,
    breakdown: {
      scoring_version: table.version,
      cpv: Math.round((best?.points ?? 0) * 10) / 10,
      activity,
      words,
      directive,
      rule,
      matched_cpv: best?.code ?? null,
      matched_words: notice.energyWords,
    },
  }
}

/** Share of its points that an additional code has if neither buyer nor title is about energy. */
const UNSUPPORTED = 0.5
/** Points from which a code alone shows that a call is about energy; only a main code has them. */
const ENERGY_POINTS = 28

/** A qualification system lists all that it is for; none of its codes is a side aspect. */
const isSystem = ({ type }: Notice): boolean => type === 'qu-sy' || type === 'F07'

/** The code with the most points; additional ones have fewer. */
function bestCode({ cpv, lots }: Notice, support: number): WeightedCode | undefined {
  const mains = [cpv.main, ...lots.map((lot) => lot.cpv.main)].filter((code) => code !== null)
  const others = [...cpv.additional, ...lots.flatMap((lot) => lot.cpv.additional)]
  return [...weigh(mains, POINTS.main), ...weigh(others, POINTS.additional * support)].reduce<
    WeightedCode | undefined
  >((top, each) => (top && top.points >= each.points ? top : each), undefined)
}

/** Words of energy in the titles; those in the name of the buyer say nothing about the call. */
function titleWordsOf({ title, lots, buyers }: Notice): string[] {
  const texts = [...title, ...lots.flatMap((lot) => lot.title)].map(({ text }) => text)
  const names = buyers.map(({ name }) => name.toLowerCase())
  return energyWordsIn(texts.join('\n')).filter(
    (word) => !names.some((name) => name.includes(word)),
  )
}

/** Divisions of supplies and services that are no energy even if their title has a word of it. */
const UNRELATED = new Set('03 15 18 22 30 33 34 35 37 39 55 60 64 66 75 79 80 85 92 98'.split(' '))

interface Signs {
  readonly isActive: boolean
  readonly isTitled: boolean
  readonly hasCode: boolean
}

/** Minimum score that buyer and words guarantee. */
function floorOf({ cpv, energyWords }: Notice, { isActive, isTitled, hasCode }: Signs): number {
  if (hasCode && isActive && energyWords.length > 0) return FLOOR
  const isUnrelated = UNRELATED.has(cpv.main?.slice(0, 2) ?? '')
  if (isUnrelated || !isTitled) return 0
  return isActive ? TITLE.ofUtility : TITLE.ofOthers
}

function applyLimits(sum: number, { hasCode, floor }: { hasCode: boolean; floor: number }) {
  const rounded = (score: number): number => Math.round(Math.min(100, score) * 10) / 10
  if (floor > sum) return { score: floor, rule: hasCode ? 'floor' : 'title' } as const
  if (!hasCode && sum > CAP && floor === 0) return { score: CAP, rule: 'cap' } as const
  return { score: rounded(sum), rule: null } as const
}

/** Limits the score of a call whose deadline cannot be read. */
export function limitUnclear(relevance: Relevance): Relevance {
  const score = Math.min(relevance.score, LABEL_MIN.medium - 1)
  const breakdown = { ...relevance.breakdown, rule: 'unclear' } as const
  return { ...relevance, score, label: labelOf(score), breakdown }
}

interface WeightedCode {
  readonly code: string
  readonly points: number
  readonly sector: string
}

const weigh = (codes: readonly string[], points: number): WeightedCode[] =>
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
