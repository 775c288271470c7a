import { z } from 'zod'

/** Ranges that charts offer, by their number of days. */
export const RANGES = {
  '7': '7 days',
  '30': '30 days',
  '90': '90 days',
  '365': '365 days',
} as const

export type Range = keyof typeof RANGES

export const rangeField = z.enum(['7', '30', '90', '365']).default('30')

/** Longer ranges show one bar per week. */
const MAX_DAILY_BARS = 100

/** Range of UTC days, drawn as bars of one or several days. */
export interface DayRange {
  readonly from: string
  readonly to: string
  readonly days: readonly string[]
  /** Days per bar. */
  readonly step: number
  /** First day of each bar. */
  readonly starts: readonly string[]
  readonly period: 'day' | 'week'
}

/** Arranges consecutive days as bars. */
export function dayRangeOf(days: readonly string[]): DayRange {
  const step = days.length > MAX_DAILY_BARS ? 7 : 1
  const starts = days.filter((_, i) => i % step === 0)
  const period = step === 1 ? 'day' : 'week'
  return { from: days[0]!, to: days.at(-1)!, days, step, starts, period }
}
