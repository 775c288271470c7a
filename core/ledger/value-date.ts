import type { ClientBase, Pool } from 'pg'
import { readFirstInstant } from './shards.ts'

/** A value date on which nothing can have happened in the ledger; the message says why. */
export class ImpossibleValueDate extends RangeError {
  override readonly name = 'ImpossibleValueDate'
}

/** Refuses dates in the future and before the ledger's first day. @throws ImpossibleValueDate */
export async function assertPossible(client: Pool | ClientBase, valueDate: Date): Promise<void> {
  const { rows } = await client.query<{ early: boolean; late: boolean; first: Date }>(
    `SELECT $1 < f.day AS early, $1 > clock_timestamp() AS late, f.day AS first
     FROM (SELECT date_trunc('day', coalesce($2, now()), 'UTC') AS day) f`,
    [valueDate, (await readFirstInstant(client)) ?? null],
  )
  const { early, late, first } = rows[0]!
  if (late) throw new ImpossibleValueDate('the value date is in the future')
  if (early) {
    const day = first.toISOString().slice(0, 10)
    throw new ImpossibleValueDate(`the value date is before the ledger began, on ${day}`)
  }
}

/** Value date that an entry has, or would get, and the reason if it is not the requested one. */
export interface UsedValueDate {
  /** Null if the entry is not posted yet. */
  readonly date: Date | null
  readonly note: string | null
}

/** Reads the value date of the entry of an act. @param requested date in the request */
export async function readUsedValueDate(
  client: Pool | ClientBase,
  id: string,
  requested: Date,
): Promise<UsedValueDate> {
  const { rows } = await client.query<{ date: Date | null; closed: boolean }>(
    `SELECT coalesce(j.effective_at, j.at) AS date,
       CASE WHEN j.id IS NULL THEN $2 < ledger.open_since() ELSE j.meta ? 'value_date' END AS closed
     FROM (SELECT) one LEFT JOIN (SELECT j.* FROM ledger.owners_of($1) o
       CROSS JOIN LATERAL ledger.entry_at(o.shard, o.seq) j LIMIT 1) j ON true`,
    [id, requested],
  )
  const { date, closed } = rows[0]!
  const month = requested.toISOString().slice(0, 7)
  const note = `${month} is closed: the entry counts when it is posted, and stores the value date.`
  return { date, note: closed ? note : null }
}
