import type { Transaction } from 'agenthub/plugin'
import { isMissing, type TriedDay } from '../ingest/missing.ts'
import type { Source } from '../store/types.ts'
import type { Page } from './query.ts'

const ATTRIBUTION = '© European Union, https://ted.europa.eu; reused under Decision 2011/833/EU'

/** The newest complete snapshot, which responses are as of. */
export interface NewestSnapshot {
  readonly closedAt: Date
  readonly day: string
  readonly ojs: string | null
  readonly source: Source
  readonly stale: boolean
  /** Version that changes with every closed snapshot and differs between databases. */
  readonly edition: string
}

interface Row {
  readonly edition: string
  readonly closed_at: Date
  readonly day: string
  readonly ojs: string | null
  readonly source: Source
  readonly gaps: boolean
}

/** Newest complete snapshot, if any. Live data is stale if a publication day is missing. */
export async function readNewestSnapshot(
  transaction: Transaction,
  now: Date,
): Promise<NewestSnapshot | undefined> {
  const today = now.toISOString().slice(0, 10)
  const { rows } = await transaction.query<Row>(
    `SELECT s.closed_at, s.day, s.ojs, s.source, EXISTS (SELECT FROM snapshot g
       WHERE g.source = 'live' AND g.closed_at IS NULL AND g.day < s.day) AS gaps,
       (SELECT concat_ws('.', d.oid, pg_postmaster_start_time(), e.number)
        FROM edition e, pg_database d WHERE d.datname = current_database()) AS edition
     FROM snapshot s WHERE s.closed_at IS NOT NULL AND s.day <= $1
     ORDER BY (s.source <> 'sample') DESC, s.day DESC, s.id DESC LIMIT 1`,
    [today],
  )
  const [row] = rows
  if (!row) return undefined
  const { closed_at: closedAt, day, ojs, source, gaps, edition } = row
  const stale = source === 'live' && (gaps || (await hasMissing(transaction, day, today)))
  return { closedAt, day, ojs, source, stale, edition }
}

/** Returns true if a day of the last weeks is missing. */
async function hasMissing(transaction: Transaction, last: string, today: string): Promise<boolean> {
  const { rows } = await transaction.query<TriedDay>(
    `SELECT day, state, ojs, tried_at AS "triedAt", settled_at AS "settledAt" FROM ingest_day
     WHERE day > $1::date - 35 ORDER BY day`,
    [last],
  )
  return isMissing(rows, last, today)
}

/** Members of every response besides its data. */
export const envelopeOf = ({ closedAt, source, stale }: NewestSnapshot) => ({
  snapshot_as_of: closedAt.toISOString(),
  stale,
  attribution: ATTRIBUTION,
  ...(source === 'sample' && { sample: true, note: SAMPLE_NOTE }),
})

const SAMPLE_NOTE = 'Fictional notices for trying things out; none of them was ever published.'

export const pagination = ({ limit, offset }: Page, total: number, returned: number) => ({
  limit,
  offset,
  total,
  returned,
  next_offset: offset + returned < total && returned > 0 ? offset + returned : null,
})
