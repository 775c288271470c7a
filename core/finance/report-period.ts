import { monthName, monthStart } from '../clock.ts'

/** Period of a report: a UTC month (`2026-11`), quarter (`2026-Q4`) or year (`2026`). */
export interface ReportPeriod {
  readonly name: string
  readonly from: Date
  /** Start of the next period. */
  readonly to: Date
}

const PERIOD = /^(20\d\d)(?:-(?:(0[1-9]|1[0-2])|Q([1-4])))?$/

/** Parses the name of a period; undefined if it is malformed. */
export function parseReportPeriod(name: string): ReportPeriod | undefined {
  const [, year, month, quarter] = PERIOD.exec(name) ?? []
  if (year === undefined) return undefined
  const first = month ? Number(month) - 1 : quarter ? (Number(quarter) - 1) * 3 : 0
  const from = new Date(Date.UTC(Number(year), first, 1))
  return { name, from, to: monthStart(from, month ? 1 : quarter ? 3 : 12) }
}

/** Returns the period of the same length before this one. */
export function previousPeriod({ from, to }: ReportPeriod): ReportPeriod {
  const months =
    (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
  const start = monthStart(from, -months)
  return { name: nameOf(start, months), from: start, to: from }
}

function nameOf(from: Date, months: number): string {
  if (months === 1) return monthName(from)
  const year = from.getUTCFullYear()
  return months === 12 ? `${year}` : `${year}-Q${from.getUTCMonth() / 3 + 1}`
}
