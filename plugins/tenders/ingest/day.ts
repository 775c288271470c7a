import type { Clock, Host } from 'agenthub/plugin'
import type { Snapshot, Store } from '../store/types.ts'
import { IngestFailure, problemOf } from './failure.ts'
import { membersOf } from './package.ts'
import type { Day, Progress } from './progress.ts'
import { fetchRendered } from './rendered.ts'
import { advance, dayQuery, type Listing, START } from './search.ts'
import type { Settings } from './settings.ts'
import type { Ted } from './ted.ts'

/** Dependencies of reading the journal. */
export interface Reading {
  readonly ted: Ted
  readonly store: Store
  readonly progress: Progress
  readonly clock: Clock
  readonly settings: Settings
  readonly log: Host['log']
}

/** Attempts per package; what a truncated one contained is stored. */
const PACKAGE_TRIES = 2

/**
 * Reads a publication day: lists the announced notices, fetches the missing ones, and closes the
 * snapshot when nothing is pending. Each step is committed, so that an interrupted run continues
 * where it stopped.
 * @returns the closed snapshot, or undefined if nothing was published
 * @throws IngestFailure that names what is missing
 */
export async function readDay(reading: Reading, found: Day): Promise<Snapshot | undefined> {
  const { store, progress, clock } = reading
  const { day } = found
  const listing = found.state === 'fetching' ? found : await listDay(reading, found)
  if (listing.announced === 0) {
    await progress.storeListing(day, null)
    await progress.endDay(day, { state: 'silent', at: clock.now() })
    return undefined
  }
  const { announced } = listing
  const ojs = listing.ojs ?? found.ojs
  const snapshot = await store.openSnapshot({ day, source: 'live', ojs, announced })
  await fetchDay(reading, snapshot)
  const missing = await progress.missing(day)
  const pending = missing.filter(({ state }) => state === 'pending')
  if (pending.length > 0) {
    const [first] = pending
    throw new IngestFailure(
      'not_found',
      `${pending.length} of ${announced} notices are missing; ${first?.number}: ${first?.problem}`,
    )
  }
  const closed = await store.closeSnapshot(snapshot)
  await progress.markSetAside(day)
  await progress.endDay(day, { state: 'closed', at: clock.now() })
  return closed
}

/** Reads the complete listing of a day; restarts if it contradicts itself. */
async function listDay(reading: Reading, { day, listing, announced }: Day): Promise<Listing> {
  const { ted, progress, settings } = reading
  let state = listing ?? START
  for (let restarts = 0; ; ) {
    try {
      while (!state.complete) {
        const page = await ted.search(dayQuery(day), state.tokens.at(-1))
        state = advance(state, page, settings.limits.announced)
        await progress.storeListing(day, state)
      }
      if (state.announced === 0 && announced) {
        throw new IngestFailure('contradiction', `${announced} notices were announced, now none`)
      }
      if (state.announced !== 0) await progress.announce(day, state)
      return state
    } catch (error) {
      const isRestarted = error instanceof IngestFailure && RESTART_REASONS.has(error.reason)
      if (!isRestarted) throw error
      state = START
      await progress.storeListing(day, state)
      if (restarts++ === settings.restarts) throw error
      await ted.wait(settings.backoffMs * 2 ** restarts)
    }
  }
}

const RESTART_REASONS: ReadonlySet<string> = new Set(['contradiction', 'bad_page'])

async function fetchDay(reading: Reading, snapshot: Snapshot): Promise<void> {
  const { store, progress, settings } = reading
  const { day, ojs } = snapshot
  const pending = async (): Promise<Set<string>> => {
    const open = (await progress.missing(day)).filter(({ state }) => state === 'pending')
    const numbers = open.map(({ number }) => number)
    const held = await store.storedNumbers(numbers)
    if (held.size > 0) await progress.settle(day, [...held], 'held')
    return new Set(numbers.filter((number) => !held.has(number)))
  }
  for (let tries = 0; tries < PACKAGE_TRIES; tries++) {
    const missing = await pending()
    if (ojs === null || missing.size < settings.packageFrom) break
    if (await readPackage(reading, snapshot, ojs, missing)) break
  }
  for await (const item of fetchRendered(reading.ted, await pending(), settings)) {
    const { number } = item
    if ('xml' in item)
      await storeDocument(reading, snapshot, { number, xml: item.xml, isLast: true })
    else await progress.settle(day, [number], 'pending', problemOf(item.failure))
  }
}

/** @returns true if it was read completely */
async function readPackage(
  reading: Reading,
  snapshot: Snapshot,
  ojs: string,
  missing: Set<string>,
): Promise<boolean> {
  const { ted, settings, log } = reading
  const { day } = snapshot
  try {
    const source = await ted.package(ojs)
    const wants = (number: string): boolean => missing.has(number)
    for await (const member of membersOf(source, { day, wants, limits: settings.limits })) {
      await ted.renewClaim()
      await storeDocument(reading, snapshot, { ...member, isLast: false })
    }
    return true
  } catch (error) {
    log('tenders: a daily package was not read to its end', { day, problem: problemOf(error) })
    if (error instanceof IngestFailure && PACKAGE_FAILURES.has(error.reason)) return false
    throw error
  }
}

/** Failures of a package, after which documents are fetched one by one. */
const PACKAGE_FAILURES: ReadonlySet<string> = new Set(['bad_package', 'no_package', 'unreachable'])

/** Stores a document. If a package's copy is damaged, the document's own URL decides. */
async function storeDocument(
  { store, progress }: Reading,
  snapshot: Snapshot,
  {
    number,
    xml,
    isLast,
  }: {
    readonly number: string
    readonly xml: Buffer
    readonly isLast: boolean
  },
): Promise<void> {
  const { day } = snapshot
  const accepted = await store.accept({ xml, number, snapshot, file: fileOf(number) })
  if (accepted.outcome !== 'refused') await progress.settle(day, [number], 'held')
  else {
    const problem = `${accepted.reason}: ${accepted.detail}`
    await progress.settle(day, [number], isLast ? 'refused' : 'pending', problem)
  }
}

/** Name of a notice's document in the daily package. */
const fileOf = (number: string): string => {
  const [ordinal = '', year = ''] = number.split('-')
  return `${ordinal.padStart(8, '0')}_${year}.xml`
}
