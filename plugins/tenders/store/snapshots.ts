import type { Database } from 'agenthub/plugin'
import { publish } from './publish.ts'
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

/** SQL of the columns of a snapshot `s`. */
export const SNAPSHOT_COLUMNS = `day, ojs, source, announced, opened_at, closed_at,
  ((SELECT count(*) FROM arrival WHERE snapshot = s.id)
    + (SELECT count(*) FROM notice WHERE snapshot = s.id))::integer AS received`
const COLUMNS = `id, ${SNAPSHOT_COLUMNS}`

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

/** See `Store.openSnapshot`. Later facts about an issue complete earlier ones. */
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

/** The first closing time counts. Samples are never mixed with real notices. */
export function closeSnapshots(
  database: Database,
  closing: readonly Snapshot[],
  now: Date,
): Promise<Snapshot[]> {
  const ids = closing.map(({ id }) => id)
  return database.transaction(async (transaction) => {
    // One at a time: families that two would join must not be joined twice.
    await transaction.query(`SELECT pg_advisory_xact_lock(hashtext('tenders.close'))`)
    if (closing.some(({ source }) => source !== 'sample')) await transaction.query(WITHOUT_SAMPLES)
    await publish(transaction, ids, now)
    await transaction.query('UPDATE edition SET number = number + 1')
    const { rows } = await transaction.query<Row>(
      `UPDATE snapshot AS s SET closed_at = coalesce(closed_at, $2) WHERE id = ANY ($1)
       RETURNING ${COLUMNS}`,
      [ids, now],
    )
    return rows.map(snapshotOf)
  })
}

const WITHOUT_SAMPLES = `
  WITH gone AS (
    DELETE FROM notice WHERE snapshot IN (SELECT id FROM snapshot WHERE source = 'sample')
    RETURNING family
  ), tenders AS (
    DELETE FROM tender WHERE family IN (SELECT family FROM gone)
  )
  DELETE FROM change WHERE family IN (SELECT family FROM gone)`

export async function snapshots(database: Database, limit: number): Promise<Snapshot[]> {
  const { rows } = await database.query<Row>(
    `SELECT ${COLUMNS} FROM snapshot s ORDER BY day DESC, id DESC LIMIT $1`,
    [limit],
  )
  return rows.map(snapshotOf)
}
