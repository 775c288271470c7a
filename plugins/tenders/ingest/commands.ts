import { type Command, type Invocation, Refusal } from 'agenthub/plugin'
import type { Ingestion } from './index.ts'
import type { DayReport, Report } from './report.ts'

/** Maximum backfill in days, half a year; beyond that the journal has monthly packages. */
const DAYS_MAX = 180

/** Operator commands for ingestion. */
export const ingestionCommands = (ingestion: Ingestion): Readonly<Record<string, Command>> => ({
  backfill: {
    usage: '--days N [--json]',
    about:
      'Reads the last N days of the official journal. Reports what is missing; repeat to continue.',
    options: { days: { type: 'string' }, json: { type: 'boolean' } },
    run: async (invocation) => {
      const days = daysIn(invocation)
      await invocation.tell(`Reading ${days} days, with one request a second at most.\n`)
      const report = await ingestion.backfill(days, invocation.signal)
      await writeReport(invocation, report)
      return report.complete ? 0 : 1
    },
  },
})

function daysIn({ values }: Invocation): number {
  const text = values['days']
  const days = typeof text === 'string' && /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (days >= 1 && days <= DAYS_MAX) return days
  throw new Refusal('no_days', `Set the number of days: --days 1 to ${DAYS_MAX}.`)
}

const writeReport = ({ values, write }: Invocation, report: Report): unknown =>
  write(values['json'] ? `${JSON.stringify(report)}\n` : textOf(report))

/** Formats a report for people. */
function textOf({ complete, days, gaps, busyUntil, advice }: Report): string {
  return [
    ...days.map(lineOf),
    ...gaps.map(
      ({ after, before, issues }) =>
        `missing: ${issues ?? 'some'} of the issues between ${after} and ${before}`,
    ),
    ...(busyUntil ? [`another worker or a requested pause, until ${busyUntil.toISOString()}`] : []),
    complete ? 'complete' : 'not complete',
    ...(advice === null ? [] : [advice]),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

function lineOf(report: DayReport): string {
  const { day, state, ojs, announced, pending, refused, problem, flags, ...rest } = report
  const counts = announced === null ? '' : ` ${announced} notices`
  const remarks = [
    ...(pending.length > 0 ? [`${pending.length} pending`] : []),
    ...refused.map((notice) => `${notice.number} refused (${notice.problem})`),
    ...(rest.doubtful ? ['no notices, and no later issue that proves a holiday'] : []),
    ...flags,
    ...(problem === null ? [] : [problem]),
  ]
  const issue = ojs === null ? '' : ` ${ojs}`
  return `${day}${issue} ${state}${counts}${remarks.map((text) => `; ${text}`).join('')}`
}
