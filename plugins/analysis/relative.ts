import { addDays, addMonths, type Day, isoDay, isoMonth, isoWeek, weekdayOf } from './calendar.ts'

/** A normalized date. `iso` is omitted if text and reference date do not determine it. */
export interface DateValue {
  /** ISO 8601, with the extensions `2026-Q1`, `2026-H1`, `199X`, `19XX` and `from/to`. */
  readonly iso?: string
  readonly granularity:
    | 'instant'
    | 'day'
    | 'week'
    | 'month'
    | 'quarter'
    | 'half'
    | 'season'
    | 'year'
    | 'decade'
    | 'century'
    | 'duration'
  /** True if the date depends on when the text was written. */
  readonly relative: boolean
}

type Granularity = DateValue['granularity']

const relativeDate = (granularity: Granularity, iso: string | undefined): DateValue =>
  iso === undefined ? { granularity, relative: true } : { iso, granularity, relative: true }

const DAY_OFFSETS: Readonly<Record<string, number>> = {
  'the day before yesterday': -2,
  yesterday: -1,
  today: 0,
  tonight: 0,
  tomorrow: 1,
  'the day after tomorrow': 2,
}

/** Resolves `yesterday`, `tomorrow` and similar words. */
export const relativeWord = (word: string, reference: Day | undefined): DateValue =>
  relativeDate('day', reference && isoDay(addDays(reference, DAY_OFFSETS[word] ?? 0)))

const BACKWARD = /^(?:last|previous|past)$/
const FORWARD = /^(?:next|following|coming)$/

/** Resolves `last week`, `next quarter` or `this year`. */
export const relativeUnit = (which: string, unit: string, reference: Day | undefined): DateValue =>
  shift(
    BACKWARD.test(which) || FORWARD.test(which) ? 1 : 0,
    unit,
    BACKWARD.test(which) ? -1 : 1,
    reference,
    true,
  )

/** Resolves a weekday in the week of the reference date, or in the week before or after. */
export const relativeWeekday = (
  which: string,
  weekday: number,
  reference: Day | undefined,
): DateValue => {
  if (reference === undefined) return relativeDate('day', undefined)
  const distance = weekday - weekdayOf(reference)
  const whole = which === 'last' && distance >= 0 ? -7 : which === 'next' && distance <= 0 ? 7 : 0
  return relativeDate('day', isoDay(addDays(reference, distance + whole)))
}

const MONTHS_OF: Readonly<Record<string, number>> = {
  month: 1,
  quarter: 3,
  year: 12,
  decade: 120,
  century: 1_200,
}
const DAYS_OF: Readonly<Record<string, number>> = { day: 1, week: 7, weekend: 7 }
const DISTANCE_DAYS_MAX = 3_000_000

/** With `whole`, the result is the calendar unit itself (`last week` is a week). */
export const shift = (
  count: number,
  unit: string,
  way: 1 | -1,
  reference: Day | undefined,
  whole = false,
): DateValue => {
  const days = DAYS_OF[unit]
  const months = MONTHS_OF[unit]
  if (days !== undefined) {
    const granularity = unit !== 'day' && whole ? 'week' : 'day'
    const isFar = !(Math.abs(count * days) < DISTANCE_DAYS_MAX)
    if (reference === undefined || isFar) return relativeDate(granularity, undefined)
    const at = addDays(reference, way * Math.round(count * days))
    return relativeDate(granularity, granularity === 'week' ? isoWeek(at) : isoDay(at))
  }
  if (months === undefined) return relativeDate('instant', undefined)
  const granularity = unit as Granularity
  if (reference === undefined || !(Math.abs(count * months) < 24_000)) {
    return relativeDate(granularity, undefined)
  }
  const at = addMonths(reference, way * Math.round(count * months))
  return at.year < 1 || at.year > 9_999
    ? relativeDate(granularity, undefined)
    : relativeDate(granularity, isoOf(at, unit))
}

const isoOf = ({ year, month }: Day, unit: string): string => {
  if (unit === 'month') return isoMonth(year, month)
  if (unit === 'quarter') return `${year}-Q${Math.ceil(month / 3)}`
  if (unit === 'decade') return `${Math.floor(year / 10)}X`
  return unit === 'century' ? `${Math.floor(year / 100)}XX` : String(year).padStart(4, '0')
}
