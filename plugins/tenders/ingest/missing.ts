import { addDays, daysFrom, gapsOf, isWeekend, type PublicationDay } from './calendar.ts'

export interface TriedDay extends PublicationDay {
  readonly triedAt: Date | null
  readonly settledAt: Date | null
}

/** Hour (UTC) from which a silent day has no issue: the journal is published in the morning. */
const NOON_MS = 12 * 3_600_000

/**
 * Returns true if a publication day before today is known to be missing: one started but not
 * complete, an issue missing by number, or a working day after the last complete one that was not
 * checked, or too early to count as a holiday.
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
