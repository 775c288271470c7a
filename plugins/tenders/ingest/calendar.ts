/** A publication day: published, with its issue number, or silent. */
export interface PublicationDay {
  readonly day: string
  readonly state: 'listing' | 'fetching' | 'closed' | 'silent'
  /** Issue such as `157/2026`; null if unknown. */
  readonly ojs: string | null
}

/** Missing issues between two known ones. */
export interface Gap {
  readonly after: string
  readonly before: string
  /** Number of missing issues; null if unknown. */
  readonly issues: number | null
}

const DAY_MS = 86_400_000

export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

/** Lists the days from first to last, inclusive; empty if reversed. */
export const daysFrom = (first: string, last: string): string[] =>
  Array.from(
    { length: Math.max(0, (Date.parse(last) - Date.parse(first)) / DAY_MS + 1) },
    (_, at) => addDays(first, at),
  )

/** Returns true for Saturday and Sunday, when the journal is not published. */
export const isWeekend = (day: string): boolean => [0, 6].includes(new Date(day).getUTCDay())

/**
 * Finds missing issues by their numbers, which are consecutive within a year. Silent days are
 * holidays if the issues around them are consecutive.
 * @param days in order
 */
export function gapsOf(days: readonly PublicationDay[]): Gap[] {
  const published = days.filter(({ ojs }) => ojs !== null)
  return published.slice(1).flatMap((next, at) => {
    const issues = missingBetween(published[at]!.ojs!, next.ojs!)
    return issues === 0 ? [] : [{ after: published[at]!.day, before: next.day, issues }]
  })
}

function missingBetween(before: string, after: string): number | null {
  const [last = 0, year] = before.split('/').map(Number)
  const [next = 0, nextYear] = after.split('/').map(Number)
  // The number of issues of a year is known only at its end, so none is missing before the first.
  if (year !== nextYear) return next - 1
  return next > last ? next - last - 1 : null
}

/** Silent days that may still be published: no known issue proves them holidays. */
export function doubtfulDays(days: readonly PublicationDay[]): ReadonlySet<string> {
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
