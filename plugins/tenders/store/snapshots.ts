import type { Database } from 'agenthub/plugin'
import { publish } from './publish.ts'
import type { Snapshot, Store } from './types.ts'

/** SQL of the number of notices of a snapshot `s`. */
export const RECEIVED = `((SELECT count(*) FROM arrival WHERE snapshot = s.id)
  + (SELECT count(*) FROM notice WHERE snapshot = s.id))::integer AS received`
const COLUMNS = `id, day, ojs, source, announced, closed_at AS "closedAt", ${RECEIVED}`

/** See `Store.openSnapshot`. Later facts about an issue complete earlier ones. */
export async function openSnapshot(
  database: Database,
  { day, source, ojs, announced }: Parameters<Store['openSnapshot']>[0],
  now: Date,
): Promise<Snapshot> {
  const { rows } = await database.query<Snapshot>(
    `INSERT INTO snapshot AS s (day, source, ojs, announced, opened_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (source, day) DO UPDATE SET ojs = coalesce(excluded.ojs, s.ojs),
       announced = coalesce(excluded.announced, s.announced)
     RETURNING ${COLUMNS}`,
    [day, source, ojs ?? null, announced ?? null, now],
  )
  return rows[0]!
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
    const { rows } = await transaction.query<Snapshot>(
      `UPDATE snapshot AS s SET closed_at = coalesce(closed_at, $2) WHERE id = ANY ($1)
       RETURNING ${COLUMNS}`,
      [ids, now],
    )
    return rows
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
  const { rows } = await database.query<Snapshot>(
    `SELECT ${COLUMNS} FROM snapshot s ORDER BY day DESC, id DESC LIMIT $1`,
    [limit],
  )
  return rows
}
