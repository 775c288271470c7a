import type { Database, Transaction } from 'agenthub/plugin'
import type { Snapshot, Source, Store } from './types.ts'

interface Row {
  readonly id: bigint
  readonly day: string
  readonly ojs: string | null
  readonly source: Source
  readonly announced: number | null
  readonly received: number
  readonly opened_at: Date
  readonly closed_at: Date | null
}

const COLUMNS = `id, day, ojs, source, announced, opened_at, closed_at,
  ((SELECT count(*) FROM arrival WHERE snapshot = s.id)
    + (SELECT count(*) FROM notice WHERE snapshot = s.id))::integer AS received`

const snapshotOf = (row: Row): Snapshot => ({
  id: row.id,
  day: row.day,
  ojs: row.ojs,
  source: row.source,
  announced: row.announced,
  received: row.received,
  openedAt: row.opened_at,
  closedAt: row.closed_at,
})

/** See `Store.openSnapshot`. What is told later of an issue completes what was told before. */
export async function openSnapshot(
  database: Database,
  { day, source, ojs, announced }: Parameters<Store['openSnapshot']>[0],
  now: Date,
): Promise<Snapshot> {
  const { rows } = await database.query<Row>(
    `INSERT INTO snapshot AS s (day, source, ojs, announced, opened_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (source, day) DO UPDATE SET ojs = coalesce(excluded.ojs, s.ojs),
       announced = coalesce(excluded.announced, s.announced)
     RETURNING ${COLUMNS}`,
    [day, source, ojs ?? null, announced ?? null, now],
  )
  return snapshotOf(rows[0]!)
}

/** Marks a snapshot as closed; the first time counts. */
export async function markClosed(
  transaction: Transaction,
  id: bigint,
  now: Date,
): Promise<Snapshot> {
  const { rows } = await transaction.query<Row>(
    `UPDATE snapshot AS s SET closed_at = coalesce(closed_at, $2) WHERE id = $1
     RETURNING ${COLUMNS}`,
    [id, now],
  )
  return snapshotOf(rows[0]!)
}

export async function snapshots(database: Database, limit: number): Promise<Snapshot[]> {
  const { rows } = await database.query<Row>(
    `SELECT ${COLUMNS} FROM snapshot s ORDER BY day DESC, id DESC LIMIT $1`,
    [limit],
  )
  return rows.map(snapshotOf)
}
