import type { Clock, Database } from 'agenthub/plugin'
import nock from 'nock'
import type { Ingestion } from '../../../../plugins/tenders/ingest/index.ts'
import { openStore } from '../../../../plugins/tenders/store/store.ts'
import type { Snapshot, Store } from '../../../../plugins/tenders/store/types.ts'
import {
  type Behavior,
  type Issue,
  type ReceivedRequest,
  startTed,
  type TedServer,
} from '../../../support/ted-server.ts'
import { tendersDatabase } from '../support.ts'
import { clockAt, FAST_SETTINGS, ingestionFrom, truncateTables } from './support.ts'

export const MONDAY = '2026-03-02'
export const TUESDAY = '2026-03-03'
const NOW = `${MONDAY}T12:00:00Z`

export const neverAborted = new AbortController().signal

export const isSearch = ({ path }: ReceivedRequest): boolean => path === '/v3/notices/search'
export const isPackage = ({ path }: ReceivedRequest): boolean => path.startsWith('/packages/')
export const isNoticePage = ({ path }: ReceivedRequest): boolean => path.startsWith('/en/notice/')

export interface JournalFixture {
  readonly ted: TedServer
  readonly database: Database
  readonly clock: Clock & { set(to: string): void }
  readonly store: Store
  readonly ingestion: Ingestion
}

/**
 * Starts a local journal, an empty database and ingestion between them, on Monday at noon. `later`
 * is closed after the test.
 */
export function useJournal() {
  let made: Awaited<ReturnType<typeof tendersDatabase>>
  const open: (() => Promise<unknown>)[] = []
  before(async () => {
    // nock would intercept the guarded HTTP client.
    nock.restore()
    made = await tendersDatabase()
  })
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })
  after(async () => {
    await made.close()
    nock.activate()
  })
  const given = async (
    issues: Issue[],
    behavior: Behavior = {},
    settings = FAST_SETTINGS,
  ): Promise<JournalFixture> => {
    const ted = await startTed(issues, behavior)
    open.push(() => ted.close())
    const { database } = made
    await truncateTables(database)
    const clock = clockAt(NOW)
    const { ingestion, close } = ingestionFrom(ted.port, { database, clock, settings })
    open.push(close)
    return { ted, database, clock, store: openStore(database, clock), ingestion }
  }
  return { given, later: (close: () => Promise<unknown>) => void open.push(close) }
}

export const newest = async (store: Store): Promise<Snapshot | undefined> =>
  (await store.snapshots(1))[0]
