import { doubtfulDays, type Gap, gapsOf } from './calendar.ts'
import type { Day, MissingNotice } from './progress.ts'

/** Report on ingestion for the operator. */
export interface Report {
  /** True if nothing requested is missing. */
  readonly complete: boolean
  readonly days: readonly DayReport[]
  /** Issues missing by number. */
  readonly gaps: readonly Gap[]
  /** Set while another worker is active or the journal has blocked requests. */
  readonly busyUntil: Date | null
  /** Advice on what to do before ingestion can start; null if nothing. */
  readonly advice: string | null
}

export interface DayReport
  extends Pick<Day, 'day' | 'state' | 'ojs' | 'announced' | 'problem' | 'stack' | 'flags'> {
  /** A silent day that may still be published. */
  readonly doubtful: boolean
  readonly pending: readonly Pick<MissingNotice, 'number' | 'problem'>[]
  /** Set aside: unreadable, or not published; `problem` is the reason. */
  readonly refused: readonly Pick<MissingNotice, 'number' | 'problem'>[]
}

/** Builds the report. A day that may still be published today is not missing. */
export function reportOf(
  days: readonly Day[],
  missing: readonly MissingNotice[],
  {
    today,
    busyUntil,
    advice,
  }: {
    readonly today: string
    readonly busyUntil: Date | null
    readonly advice: string | null
  },
): Report {
  const inDoubt = doubtfulDays(days)
  const gaps = gapsOf(days)
  const byDay = Map.groupBy(missing, ({ day }) => day)
  const of = (day: string, state: MissingNotice['state']) =>
    (byDay.get(day) ?? [])
      .filter((notice) => notice.state === state)
      .map(({ number, problem }) => ({ number, problem }))
  const reports = days.map(({ day, state, ojs, announced, problem, stack, flags }) => ({
    day,
    state,
    ojs,
    announced,
    problem,
    stack,
    flags,
    doubtful: inDoubt.has(day),
    pending: of(day, 'pending'),
    refused: of(day, 'refused'),
  }))
  const complete =
    days.length > 0 &&
    gaps.length === 0 &&
    reports.every((report) => report.day === today || (!report.doubtful && isEnded(report)))
  return { complete, days: reports, gaps, busyUntil, advice }
}

const isEnded = ({ state }: DayReport): boolean => state === 'closed' || state === 'silent'
