import type { Clock, Database, Host, Schedule } from 'agenthub/plugin'
import type { Store } from '../store/types.ts'
import { CODE_VERSION } from '../store/version.ts'
import { addDays, daysFrom, doubtfulDays } from './calendar.ts'
import { type Reading, readDay } from './day.ts'
import { failureOf, IngestFailure, problemOf } from './failure.ts'
import { fetchPredecessors } from './predecessors.ts'
import { type Day, type Progress, progressIn } from './progress.ts'
import { type Report, reportOf } from './report.ts'
import { SETTINGS, type Settings } from './settings.ts'
import { openTed } from './ted.ts'
import { busyUntil, claim } from './worker.ts'

/** Ingestion of the official journal. Sends no request until the operator asks for days. */
export interface Ingestion {
  /** Reads days that are due: new, missing, or possibly late. */
  sync(signal: AbortSignal): Promise<Report>
  /** Schedules the last `days` days, including today, and syncs. */
  backfill(days: number, signal: AbortSignal): Promise<Report>
  report(): Promise<Report>
  readonly schedules: Readonly<Record<string, Schedule>>
}

export interface IngestionOptions {
  readonly host: Pick<Host, 'http' | 'clock' | 'log' | 'secret'>
  readonly database: Database
  readonly store: Store
  readonly settings?: Settings
}

/** Secret with the operator's email address or URL, sent to the journal. */
const CONTACT = 'TENDERS_CONTACT'
const EVERY_SECONDS = 900
const DEADLINE_SECONDS = 3_600
/** Time after which a closed day is listed once more, because the search may lag. */
const RECHECK_MS = 20 * 3_600_000
/** Interval and duration of rechecking a doubtful silent day. */
const SILENT_MS = 3_600_000
const SILENT_DAYS = 30

export function createIngestion(options: IngestionOptions): Ingestion {
  const { host, database } = options
  const progress = progressIn(database)
  const today = (): string => host.clock.now().toISOString().slice(0, 10)
  const report = async (): Promise<Report> => {
    const until = await busyUntil(database)
    const days = await progress.days()
    return reportOf(days, await progress.missing(), {
      today: today(),
      busyUntil: until > host.clock.now() ? until : null,
      advice: adviceFor(days, host.secret(CONTACT)),
    })
  }
  const sync = async (signal: AbortSignal): Promise<Report> => {
    const [first] = await progress.days()
    const contact = host.secret(CONTACT)
    if (!first || contact === undefined) return report()
    await progress.want(daysFrom(first.day, today()))
    await work(options, progress, contact, signal)
    return report()
  }
  return {
    sync,
    report,
    async backfill(days, signal) {
      const from = addDays(today(), 1 - days)
      // No gap to the known days, because missing issues could not be detected in one.
      const [first] = await progress.days()
      await progress.want(daysFrom(from, first && first.day > from ? first.day : today()))
      return sync(signal)
    },
    schedules: {
      ingest: {
        everySeconds: EVERY_SECONDS,
        deadlineSeconds: DEADLINE_SECONDS,
        run: alerting(sync),
      },
    },
  }
}

/** Fails the job after all its work if something was set aside: the failure is the alert. */
const alerting =
  (sync: Ingestion['sync']) =>
  async (signal: AbortSignal): Promise<void> => {
    const { days } = await sync(signal)
    const failed = days.filter(({ refused, stack }) => refused.length > 0 || stack !== null)
    const [first] = failed
    if (!first || signal.aborted) return
    const { day, refused, problem } = first
    const [notice] = refused
    const why = notice ? `${notice.number}: ${notice.problem}` : problem
    throw new Error(
      `${failed.length} days have notices that were set aside, first ${day}, ${why}; ` +
        'all others are published. See: npm run tenders -- status',
    )
  }

function adviceFor(days: readonly Day[], contact: string | undefined): string | null {
  if (contact === undefined) {
    return (
      `Set HUB_SECRET_${CONTACT} to your email address or URL: the publisher of the ` +
      'journal requires programs that read it to name a contact.'
    )
  }
  if (days.length > 0) return null
  return 'No day has been read yet: npm run tenders -- backfill --days 30'
}

/** Reads due days, oldest first, as the only worker of all processes. */
async function work(
  { host, database, store, settings = SETTINGS }: IngestionOptions,
  progress: Progress,
  contact: string,
  signal: AbortSignal,
): Promise<void> {
  const { clock, http, log } = host
  const worker = await claim(database, clock, settings.claimMs)
  if ('until' in worker) return
  const { renewClaim } = worker
  const userAgent = `AgentHub-tenders/1.0 (+${contact.replaceAll(/[^\x21-\x7e]/g, '')})`
  const ted = openTed({ http, clock, settings, userAgent, signal, renewClaim })
  const reading: Reading = { ted, store, progress, clock, settings, log }
  try {
    await readDue(reading)
  } catch (error) {
    if (!(error instanceof IngestFailure)) {
      // An aborted day continues next time; everything received is stored.
      if (signal.aborted) return
      throw error // not even the failure of a day could be recorded
    }
    if (error.quietUntil) await worker.keepQuiet(error.quietUntil)
    log('tenders: ingestion continues later', { problem: problemOf(error) })
  } finally {
    await worker.release()
  }
}

async function readDue(reading: Reading): Promise<void> {
  const { progress, clock, store } = reading
  await progress.retrySetAside(CODE_VERSION)
  for (const day of dueDays(await progress.days(), clock)) {
    await readOrRecord(reading, day, async () => {
      const snapshot = await readDay(reading, day)
      if (snapshot) await fetchPredecessors(reading, snapshot)
    })
  }
  const newest = (await store.snapshots(100)).find(
    ({ source, closedAt }) => source === 'live' && closedAt !== null,
  )
  if (newest) {
    await readOrRecord(reading, newest, async () => {
      await fetchPredecessors(reading, newest)
      await progress.endDay(newest.day, { at: clock.now() })
    })
  }
}

/**
 * Does the work of a day; a failure is recorded on it and stops no other day.
 * @throws IngestFailure if continuing with another day is pointless
 */
async function readOrRecord(
  { progress, clock, log, ted }: Reading,
  { day }: Pick<Day, 'day'>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof IngestFailure) && ted.signal.aborted) throw error
    const failure = failureOf(error)
    await progress.endDay(day, { ...failure, at: clock.now() })
    log('tenders: a day is not complete', { day, ...failure })
    if (error instanceof IngestFailure && STOPPING_REASONS.has(error.reason)) throw error
  }
}

const STOPPING_REASONS: ReadonlySet<string> = new Set(['blocked', 'displaced', 'unreachable'])

/** Finds incomplete days, closed days not listed twice, and doubtful silent days. */
function dueDays(days: readonly Day[], clock: Clock): Day[] {
  const now = clock.now()
  const since = (at: Date | null): number => now.getTime() - (at?.getTime() ?? 0)
  const oldest = addDays(now.toISOString().slice(0, 10), -SILENT_DAYS)
  const inDoubt = doubtfulDays(days)
  return days.filter((day) => {
    if (day.state === 'closed') return !day.rechecked && since(day.settledAt) > RECHECK_MS
    if (day.state !== 'silent') return true
    return inDoubt.has(day.day) && day.day > oldest && since(day.triedAt) > SILENT_MS
  })
}
