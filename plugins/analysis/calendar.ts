/** Civil dates as numbers, without a clock and without a time zone. */

export interface Day {
  readonly year: number
  readonly month: number
  readonly day: number
}

const pad = (value: number, width = 2): string => String(value).padStart(width, '0')

export const isoDay = ({ year, month, day }: Day): string =>
  `${pad(year, 4)}-${pad(month)}-${pad(day)}`

export const isoMonth = (year: number, month: number): string => `${pad(year, 4)}-${pad(month)}`

/** Reads `YYYY-MM-DD`; undefined when there is no such day. */
export const parseDay = (written: string): Day | undefined => {
  const match = /^(\d{4})-(\d{2})-(\d{2})/.exec(written)
  const [year, month, day] = match?.slice(1, 4).map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  return isDay({ year, month, day }) ? { year, month, day } : undefined
}

export const isDay = ({ year, month, day }: Day): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)

const daysIn = (year: number, month: number): number => {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

const DAY_MS = 86_400_000

/** Days since 1970-01-01. */
const toNumber = ({ year, month, day }: Day): number => Date.UTC(year, month - 1, day) / DAY_MS

/** The inverse of `toNumber`. */
const fromNumber = (days: number): Day => {
  const date = new Date(days * DAY_MS)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

export const addDays = (from: Day, days: number): Day => fromNumber(toNumber(from) + days)

/** Adds months; the day is clipped to the last of a shorter month. */
export const addMonths = ({ year, month, day }: Day, months: number): Day => {
  const total = year * 12 + month - 1 + months
  const to = { year: Math.floor(total / 12), month: (total % 12) + 1 }
  return { ...to, day: Math.min(day, daysIn(to.year, to.month)) }
}

/** 1 is Monday, 7 is Sunday. */
export const weekdayOf = (day: Day): number => ((((toNumber(day) + 3) % 7) + 7) % 7) + 1

/** The ISO 8601 week: `2026-W07`. */
export const isoWeek = (day: Day): string => {
  const thursday = addDays(day, 4 - weekdayOf(day))
  const first = toNumber({ year: thursday.year, month: 1, day: 1 })
  return `${pad(thursday.year, 4)}-W${pad(Math.floor((toNumber(thursday) - first) / 7) + 1)}`
}
