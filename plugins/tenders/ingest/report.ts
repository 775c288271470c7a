import { doubtful, type Gap, gapsOf } from './calendar.ts'
import type { Day, Lacking } from './progress.ts'

/** What the operator sees of ingestion. */
export interface Report {
  /** Nothing that was asked for is missing. */
  readonly complete: boolean
  readonly days: readonly DayReport[]
  /** Issues that are missing by their numbers. */
  readonly gaps: readonly Gap[]
  /** Another worker is at work, or the journal wants peace, until then. */
  readonly busyUntil: Date | null
  /** What is to be done before anything happens. */
  readonly advice: string | null
}

export interface DayReport extends Pick<Day, 'day' | 'state' | 'ojs' | 'announced' | 'problem'> {
  /** A silent day that is not proved to be one without publication. */
  readonly doubtful: boolean
  readonly pending: readonly Pick<Lacking, 'number' | 'problem'>[]
  readonly refused: readonly Pick<Lacking, 'number' | 'problem'>[]
}

/** Puts together what is known. A day that may be published later today is not missing yet. */
export function reportOf(
  days: readonly Day[],
  lacking: readonly Lacking[],
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
  const inDoubt = doubtful(days)
  const gaps = gapsOf(days)
  const byDay = Map.groupBy(lacking, ({ day }) => day)
  const of = (day: string, state: Lacking['state']) =>
    (byDay.get(day) ?? [])
      .filter((notice) => notice.state === state)
      .map(({ number, problem }) => ({ number, problem }))
  const reports = days.map(({ day, state, ojs, announced, problem }) => ({
    day,
    state,
    ojs,
    announced,
    problem,
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
