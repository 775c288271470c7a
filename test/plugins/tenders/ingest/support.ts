import type { Clock, Database } from 'agenthub/plugin'
import { createEgress } from '../../../../core/egress/egress.ts'
import { createIngestion, type Ingestion } from '../../../../plugins/tenders/ingest/index.ts'
import { SETTINGS, type Settings } from '../../../../plugins/tenders/ingest/settings.ts'
import { openStore } from '../../../../plugins/tenders/store/store.ts'
import { eformsNotice, uuidOf } from '../../../support/eforms.ts'
import type { Issue, Published } from '../../../support/ted-server.ts'

/** Production settings with short delays, pages of 5, and packages from 4 notices. */
export const FAST_SETTINGS: Settings = {
  ...SETTINGS,
  api: 'http://ted.test',
  site: 'http://ted.test',
  paceMs: 0,
  retries: 3,
  backoffMs: 1,
  pageSize: 5,
  packageFrom: 4,
  pollMs: [1, 2],
  renderMs: 400,
  rendering: 3,
  retryAfterMaxMs: 1_000,
  claimMs: 1_500,
}

/** A clock that stands still until it is set. */
export const clockAt = (instant: string): Clock & { set(to: string): void } => {
  let now = new Date(instant)
  return {
    now: () => now,
    set: (to) => {
      now = new Date(to)
    },
  }
}

/** Ingestion from a local server through the guarded HTTP client. */
export function ingestionFrom(
  port: number,
  {
    database,
    clock,
    settings = FAST_SETTINGS,
    contact = 'ops@hub.test',
  }: {
    readonly database: Database
    readonly clock: Clock
    readonly settings?: Settings
    readonly contact?: string | undefined
  },
): { readonly ingestion: Ingestion; readonly close: () => Promise<void> } {
  const http = createEgress({
    userAgent: 'test',
    sandboxHosts: new Map([['ted.test', port]]),
  })
  const ingestion = createIngestion({
    host: { http, clock, log: () => undefined, secret: () => contact },
    database,
    store: openStore(database, clock),
    settings,
  })
  return { ingestion, close: () => http.close() }
}

/** An issue with `count` fictional energy notices and an unrelated one. */
export function issueOf(day: string, ojs: string, count: number, from = 1): Issue {
  const year = ojs.slice(-4)
  const notices = Array.from({ length: count }, (_, at) =>
    noticeOf({ number: `${from + at}-${year}`, day, ojs }),
  )
  const other = noticeOf({ number: `${from + count}-${year}`, day, ojs, cpv: '55300000' })
  return { day, ojs, notices: [...notices, { ...other, other: true }] }
}

export function noticeOf(fiction: Parameters<typeof eformsNotice>[0]): Published {
  const { number, uuid = uuidOf(number), version = '01' } = fiction
  return { number, uuid, version, xml: eformsNotice(fiction) }
}

/** Publication numbers that are served, or that wait for their snapshot. */
export async function numbersIn(database: Database, table: 'notice' | 'arrival') {
  const { rows } = await database.query<{ number: string }>(
    `SELECT number FROM ${table} ORDER BY length(number), number`,
  )
  return rows.map(({ number }) => number)
}

/** Deletes all ingested data. */
export async function truncateTables(database: Database): Promise<void> {
  await database.query(
    'TRUNCATE ingest_day, snapshot, family, tender, change, wanted, refusal CASCADE',
  )
  await database.query(
    `UPDATE ingest_worker SET held_until = '-infinity', quiet_until = '-infinity'`,
  )
}
