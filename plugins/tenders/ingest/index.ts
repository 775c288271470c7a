import type { Clock, Database, Host, Schedule } from 'agenthub/plugin'
import type { Snapshot, Store } from '../store/types.ts'
import { addDays, daysFrom, doubtful } from './calendar.ts'
import { type Reading, readDay } from './day.ts'
import { IngestFailure, problemOf } from './failure.ts'
import { bringPredecessors } from './predecessors.ts'
import { type Day, type Progress, progressIn } from './progress.ts'
import { type Report, reportOf } from './report.ts'
import { SETTINGS, type Settings } from './settings.ts'
import { openTed } from './ted.ts'
import { busyUntil, claim } from './worker.ts'

/** Reading of the official journal. Nothing is asked of it before the operator wanted days. */
export interface Ingestion {
  /** Reads what is due: new days, what is missing, what may have been late. */
  sync(signal: AbortSignal): Promise<Report>
  /** Has the last `days` days read too, today being one of them, and syncs. */
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

/** Name of the secret with an e-mail address or a URL of who runs this hub. */
const CONTACT = 'TENDERS_CONTACT'
const EVERY_SECONDS = 900
const DEADLINE_SECONDS = 3_600
/** A closed day is listed again once after this: the search may have been late. */
const RECHECK_MS = 20 * 3_600_000
/** A silent day that is in doubt is asked about this often, and for so many days. */
const SILENT_MS = 3_600_000
const SILENT_DAYS = 30

export function createIngestion(options: IngestionOptions): Ingestion {
  const { host, database } = options
  const progress = progressIn(database)
  const today = (): string => host.clock.now().toISOString().slice(0, 10)
  const report = async (): Promise<Report> => {
    const until = await busyUntil(database)
    const days = await progress.days()
    return reportOf(days, await progress.lacking(), {
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
      // Without a hole to what is known already: its issues could not be told to be missing.
      const [first] = await progress.days()
      await progress.want(daysFrom(from, first && first.day > from ? first.day : today()))
      return sync(signal)
    },
    schedules: {
      ingest: { everySeconds: EVERY_SECONDS, deadlineSeconds: DEADLINE_SECONDS, run: sync },
    },
  }
}

function adviceFor(days: readonly Day[], contact: string | undefined): string | null {
  if (contact === undefined) {
    return (
      `Set HUB_SECRET_${CONTACT} to an e-mail address or a URL of yours: the office of the ` +
      'journal asks whoever reads it by program to name a contact.'
    )
  }
  if (days.length > 0) return null
  return 'No day was read yet: npm run tenders -- backfill --days 30'
}

/** Reads the days that are due, oldest first, as the one worker of all processes. */
async function work(
  { host, database, store, settings = SETTINGS }: IngestionOptions,
  progress: Progress,
  contact: string,
  signal: AbortSignal,
): Promise<void> {
  const { clock, http, log } = host
  const worker = await claim(database, clock, settings.claimMs)
  if ('until' in worker) return
  const { stay } = worker
  const userAgent = `AgentHub-tenders/1.0 (+${contact.replaceAll(/[^\x21-\x7e]/g, '')})`
  const ted = openTed({ http, clock, settings, userAgent, signal, stay })
  const reading: Reading = { ted, store, progress, clock, settings, log }
  try {
    await readDue(reading)
  } catch (error) {
    if (!(error instanceof IngestFailure)) {
      // What was aborted goes on next time; everything that came is kept.
      if (signal.aborted) return
      throw error
    }
    if (error.quietUntil) await worker.keepQuiet(error.quietUntil)
    log('tenders: ingestion goes on later', { problem: problemOf(error) })
  } finally {
    await worker.release()
  }
}

async function readDue(reading: Reading): Promise<void> {
  const { progress, clock, store } = reading
  for (const day of dueDays(await progress.days(), clock)) {
    const snapshot = await readOrNote(reading, day)
    if (snapshot) await bringPredecessors(reading, snapshot)
  }
  const newest = (await store.snapshots(100)).find(
    ({ source, closedAt }) => source === 'live' && closedAt !== null,
  )
  if (newest) await bringPredecessors(reading, newest)
}

/** @throws IngestFailure where there is no use in going on to another day */
async function readOrNote(reading: Reading, day: Day): Promise<Snapshot | undefined> {
  try {
    return await readDay(reading, day)
  } catch (error) {
    const problem = problemOf(error)
    await reading.progress.endDay(day.day, { problem, at: reading.clock.now() })
    reading.log('tenders: a day is not complete', { day: day.day, problem })
    if (error instanceof IngestFailure && STOPS.has(error.reason)) throw error
    return undefined
  }
}

const STOPS: ReadonlySet<string> = new Set(['blocked', 'displaced', 'unreachable'])

/** Days under way; closed ones that were not listed twice; silent ones that may yet speak. */
function dueDays(days: readonly Day[], clock: Clock): Day[] {
  const now = clock.now()
  const since = (at: Date | null): number => now.getTime() - (at?.getTime() ?? 0)
  const oldest = addDays(now.toISOString().slice(0, 10), -SILENT_DAYS)
  const inDoubt = doubtful(days)
  return days.filter((day) => {
    if (day.state === 'closed') return !day.rechecked && since(day.settledAt) > RECHECK_MS
    if (day.state !== 'silent') return true
    return inDoubt.has(day.day) && day.day > oldest && since(day.triedAt) > SILENT_MS
  })
}
