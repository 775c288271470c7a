import type { PoolClient } from 'pg'
import { inOrder, isAfter, type Point, valuesOf } from './point.ts'

/** What an entry changed, and its place in a statement. */
export interface Line {
  readonly point: Point
  readonly amount: bigint
}

/** An entry of the account, as the journal's order gives it. */
interface Entry extends Line {
  /** Its place if it counted when it was booked. */
  readonly booked: Point
}

export interface LineRange {
  /** After this point … */
  readonly start: Point
  /** … up to this one. */
  readonly end: Point
  readonly limit: number
  /** How many entries of the account lie up to `start` that were booked after it. */
  readonly passed: number
}

/** ISO 8601 in UTC, to the microsecond, for `to_char(… AT TIME ZONE 'UTC', …)`. */
export const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

const ENTRIES = {
  name: 'ledger.statement-entries',
  text: `SELECT p.shard, e.seq, e.amount, to_char(j.at AT TIME ZONE 'UTC', ${ISO}) AS booked,
      to_char(coalesce(j.effective_at, j.at) AT TIME ZONE 'UTC', ${ISO}) AS at
    FROM (SELECT s.shard, s.seq AS after, e.seq AS upto FROM ledger.account a
      JOIN ledger.cut($2, $3, $4) s ON s.shard = a.home OR a.home IS NULL
      JOIN ledger.cut($5, $6, $7) e ON e.shard = s.shard WHERE a.id = $1) p
    CROSS JOIN LATERAL ledger.next_entries($1, p.shard, p.after, p.upto, $8) e
    JOIN ledger.journal j ON j.shard = p.shard AND j.seq = e.seq
    ORDER BY p.shard, e.seq`,
}
const LATE = {
  name: 'ledger.statement-late',
  text: `SELECT l.shard, l.seq, l.amount, to_char(l.value_at AT TIME ZONE 'UTC', ${ISO}) AS at
    FROM ledger.late($2, $3, $4) l WHERE l.account = $1`,
}

interface Row {
  readonly shard: number
  readonly seq: bigint
  readonly amount: bigint
  readonly at: string
  readonly booked: string
}

/**
 * The first lines of an account after a point, at most `limit`, in order. The journal gives the
 * entries in the order of booking; how far a few of them reach tells up to where nothing else can
 * come between but what was booked late, and that the database finds by its value date.
 */
export async function readLines(
  client: PoolClient,
  account: bigint,
  { start, end, limit, passed }: LineRange,
): Promise<Line[]> {
  const ahead = limit + passed
  const values = [account, ...valuesOf(start), ...valuesOf(end), ahead]
  const { rows } = await client.query<Row>({ ...ENTRIES, values })
  const entries = rows.map(entryOf)
  const reach = reachOf(entries, ahead) ?? end
  const late = await client.query<Row>({ ...LATE, values: [account, ...valuesOf(reach)] })
  return [...entries.filter(({ booked }) => !isAfter(booked, reach)), ...late.rows.map(lineOf)]
    .filter(({ point }) => isAfter(point, start))
    .sort((a, b) => inOrder(a.point, b.point))
    .slice(0, limit)
}

const lineOf = ({ at, shard, seq, amount }: Row): Line => ({ point: { at, shard, seq }, amount })

const entryOf = (row: Row): Entry => ({
  ...lineOf(row),
  booked: { at: row.booked, shard: row.shard, seq: row.seq },
})

/** Up to where all entries were read; undefined when no shard has more than were asked for. */
function reachOf(entries: readonly Entry[], ahead: number): Point | undefined {
  const read = Map.groupBy(entries, ({ booked }) => booked.shard).values()
  return [...read]
    .filter(({ length }) => length === ahead)
    .map((ofShard) => ofShard.at(-1)!.booked)
    .sort(inOrder)[0]
}
