/** A day as it was found: published, with the number of its issue; or silent. */
export interface FoundDay {
  readonly day: string
  readonly state: 'listing' | 'fetching' | 'closed' | 'silent'
  /** `157/2026`; null where it is not known. */
  readonly ojs: string | null
}

/** Issues of the journal that are missing between two that we know. */
export interface Gap {
  readonly after: string
  readonly before: string
  /** How many; null where the numbers do not tell. */
  readonly issues: number | null
}

const DAY_MS = 86_400_000

export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

/** From the first to the last day, both included; none where they are the other way round. */
export const daysFrom = (first: string, last: string): string[] =>
  Array.from(
    { length: Math.max(0, (Date.parse(last) - Date.parse(first)) / DAY_MS + 1) },
    (_, at) => addDays(first, at),
  )

/** The journal comes from Monday to Friday. */
export const isWeekend = (day: string): boolean => [0, 6].includes(new Date(day).getUTCDay())

/**
 * What is missing by the numbers of the issues, which are consecutive within a year. Days that say
 * nothing are holidays when the issues before and after them follow each other.
 * @param days in order
 */
export function gapsOf(days: readonly FoundDay[]): Gap[] {
  const published = days.filter(({ ojs }) => ojs !== null)
  return published.slice(1).flatMap((next, at) => {
    const issues = missingBetween(published[at]!.ojs!, next.ojs!)
    return issues === 0 ? [] : [{ after: published[at]!.day, before: next.day, issues }]
  })
}

function missingBetween(before: string, after: string): number | null {
  const [last = 0, year] = before.split('/').map(Number)
  const [next = 0, nextYear] = after.split('/').map(Number)
  // How many issues a year has is known at its end only: that none is missing before the first.
  if (year !== nextYear) return next - 1
  return next > last ? next - last - 1 : null
}

/**
 * Silent days that may yet speak: in a gap of the numbers, or on a working day after which no
 * issue is known that would prove it a holiday.
 */
export function doubtful(days: readonly FoundDay[]): ReadonlySet<string> {
  const gaps = gapsOf(days)
  const lastKnown = days.findLast(({ ojs }) => ojs !== null)?.day ?? ''
  const firstKnown = days.find(({ ojs }) => ojs !== null)?.day ?? '9999-12-31'
  return new Set(
    days
      .filter(({ state }) => state === 'silent')
      .filter(({ day }) => {
        if (gaps.some(({ after, before }) => after < day && day < before)) return true
        return (day > lastKnown || day < firstKnown) && !isWeekend(day)
      })
      .map(({ day }) => day),
  )
}
