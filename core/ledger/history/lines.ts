import type { PoolClient } from 'pg'
import { inOrder, isAfter, type Point, valuesOf } from './point.ts'

/** What an entry changed, and its place in a statement. */
export interface Line {
  /** By value date. */
  readonly point: Point
  /** ISO 8601 in UTC, to the microsecond. */
  readonly bookedAt: string
  readonly amount: bigint
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
const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

const ENTRIES = {
  name: 'ledger.statement-entries',
  text: `SELECT p.shard, e.seq, e.amount, to_char(j.at AT TIME ZONE 'UTC', ${ISO}) AS "bookedAt",
      to_char(j.effective_at AT TIME ZONE 'UTC', ${ISO}) AS "valueAt"
    FROM (SELECT s.shard, s.seq AS after, e.seq AS upto FROM ledger.account a
      JOIN ledger.cut($2, $3, $4) s ON s.shard = a.home OR a.home IS NULL
      JOIN ledger.cut($5, $6, $7) e ON e.shard = s.shard WHERE a.id = $1) p
    CROSS JOIN LATERAL ledger.next_entries($1, p.shard, p.after, p.upto, $8) e
    CROSS JOIN LATERAL (SELECT * FROM ledger.journal j
      WHERE j.shard = p.shard AND j.seq = e.seq LIMIT 1) j
    ORDER BY p.shard, e.seq`,
}
const LATE = {
  name: 'ledger.statement-late',
  text: `SELECT l.shard, l.seq, l.amount,
      to_char(l.booked_at AT TIME ZONE 'UTC', ${ISO}) AS "bookedAt",
      to_char(l.value_at AT TIME ZONE 'UTC', ${ISO}) AS "valueAt"
    FROM ledger.late($2, $3, $4, $1) l`,
}

interface Row {
  readonly shard: number
  readonly seq: bigint
  readonly amount: bigint
  readonly bookedAt: string
  readonly valueAt: string | null
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
  const entries = rows.map(lineOf)
  const reach = reachOf(entries, ahead) ?? end
  const late = await client.query<Row>({ ...LATE, values: [account, ...valuesOf(reach)] })
  return [...entries.filter((line) => !isAfter(placeOf(line), reach)), ...late.rows.map(lineOf)]
    .filter(({ point }) => isAfter(point, start))
    .sort((a, b) => inOrder(a.point, b.point))
    .slice(0, limit)
}

const lineOf = ({ bookedAt, valueAt, shard, seq, amount }: Row): Line => ({
  point: { at: valueAt ?? bookedAt, shard, seq },
  bookedAt,
  amount,
})

/** Where a line would be if it counted when it was booked. */
const placeOf = ({ bookedAt: at, point: { shard, seq } }: Line): Point => ({ at, shard, seq })

/** Up to where all entries were read; undefined when no shard has more than were asked for. */
function reachOf(entries: readonly Line[], ahead: number): Point | undefined {
  const read = Map.groupBy(entries, ({ point }) => point.shard).values()
  return [...read]
    .filter(({ length }) => length === ahead)
    .map((ofShard) => placeOf(ofShard.at(-1)!))
    .sort(inOrder)[0]
}
