import { addDays, daysFrom, type FoundDay, gapsOf, isWeekend } from './calendar.ts'

export interface TriedDay extends FoundDay {
  readonly triedAt: Date | null
  readonly settledAt: Date | null
}

/** The journal comes in the morning: a day that is silent at noon, UTC, has no issue. */
const NOON_MS = 12 * 3_600_000

/**
 * Whether a publication day before today is missing, as far as can be known today: one that was
 * begun and never complete; an issue that the numbers tell of; a working day after the last
 * complete one which was not asked about, or too early to be called a holiday.
 * @param last the last complete day
 */
export function isMissing(days: readonly TriedDay[], last: string, today: string): boolean {
  const earlier = days.filter(({ day }) => day < today)
  if (earlier.some(({ settledAt }) => settledAt === null)) return true
  if (gapsOf(earlier).length > 0) return true
  const silent = new Set(earlier.filter(isSilentAtNoon).map(({ day }) => day))
  return daysFrom(addDays(last, 1), addDays(today, -1)).some(
    (day) => !isWeekend(day) && !silent.has(day),
  )
}

const isSilentAtNoon = ({ day, state, triedAt }: TriedDay): boolean =>
  state === 'silent' && triedAt !== null && triedAt.getTime() >= Date.parse(day) + NOON_MS
