import type { Gold } from './texts.ts'

export interface FoundSpan {
  readonly start: number
  readonly end: number
  readonly type: string
  readonly confidence?: number
}

export interface Count {
  right: number
  wrong: number
  gold: number
}

/** Formats a share in percent with one decimal. */
export const percent = (share: number): number =>
  Number.isFinite(share) ? Math.round(share * 1_000) / 10 : 0
const f1 = ({ right, wrong, gold }: Count): number => percent((2 * right) / (right + wrong + gold))

/** One result: its confidence, and whether it is right. */
export interface Claim {
  readonly confidence: number
  readonly isRight: boolean
}

/** Counts exact spans and types, by type and as `all`, with the confidence of each. */
export class SpanScore {
  readonly counts = new Map<string, Count>()
  readonly claims: Claim[] = []

  constructor(types: readonly string[]) {
    for (const type of [...types, 'all']) this.counts.set(type, { right: 0, wrong: 0, gold: 0 })
  }

  add(gold: readonly Gold[], found: readonly FoundSpan[]): void {
    const known = new Set(gold.map((one) => one.join(' ')))
    for (const [, , type] of gold) this.#count(type, 'gold')
    for (const { start, end, type, confidence } of found) {
      const isRight = known.has(`${start} ${end} ${type}`)
      this.#count(type, isRight ? 'right' : 'wrong')
      if (confidence !== undefined && this.counts.has(type)) {
        this.claims.push({ confidence, isRight })
      }
    }
  }

  /** Returns the F1 of a type, or of all types. */
  f1(type = 'all'): number {
    const count = this.counts.get(type)
    return count === undefined ? 0 : f1(count)
  }

  #count(type: string, what: keyof Count): void {
    const count = this.counts.get(type)
    const all = this.counts.get('all')
    if (count === undefined || all === undefined) return
    count[what] += 1
    all[what] += 1
  }
}

const BINS = 10

/**
 * Returns the expected calibration error in percentage points: the mean gap between confidence and
 * accuracy over ten equal bins.
 */
export const calibrationError = (claims: readonly Claim[]): number => {
  const bins = Array.from({ length: BINS }, (_, bin) =>
    claims.filter(({ confidence }) => Math.min(BINS - 1, Math.floor(confidence * BINS)) === bin),
  )
  const gaps = bins.map((bin) =>
    Math.abs(bin.reduce((sum, { confidence, isRight }) => sum + confidence - Number(isRight), 0)),
  )
  return percent(gaps.reduce((sum, gap) => sum + gap, 0) / Math.max(1, claims.length))
}

/** Returns the share of items for which `isRight` is true, in percent. */
export const accuracy = <T>(items: readonly T[], isRight: (item: T) => boolean): number =>
  percent(items.filter(isRight).length / items.length)
