import type { ClientBase, Pool } from 'pg'

/** A value date on which nothing can have happened in the ledger; the message says why. */
export class ImpossibleValueDate extends RangeError {
  override readonly name = 'ImpossibleValueDate'
}

/** SQL expression: first instant of the day of the ledger's first entry, or of today. */
const FIRST_DAY = `date_trunc('day', coalesce((SELECT min(s.at) FROM ledger.head h
  CROSS JOIN LATERAL (SELECT s.at FROM ledger.seal s WHERE s.shard = h.shard
    ORDER BY s.at LIMIT 1) s), now()), 'UTC')`

/** Refuses dates in the future and before the ledger's first day. @throws ImpossibleValueDate */
export async function assertPossible(client: Pool | ClientBase, valueDate: Date): Promise<void> {
  const { rows } = await client.query<{ early: boolean; late: boolean; first: Date }>(
    `SELECT $1 < f.day AS early, $1 > clock_timestamp() AS late, f.day AS first
     FROM (SELECT ${FIRST_DAY} AS day) f`,
    [valueDate],
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
       JOIN ledger.journal j ON j.shard = o.shard AND j.seq = o.seq LIMIT 1) j ON true`,
    [id, requested],
  )
  const { date, closed } = rows[0]!
  const month = requested.toISOString().slice(0, 7)
  const note = `${month} is closed: the entry counts when it is posted, and stores the value date.`
  return { date, note: closed ? note : null }
}
