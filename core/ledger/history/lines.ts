import type { PoolClient } from 'pg'
import type { Account, LedgerEvent } from '../events.ts'
import { inOrder, isAfter, type Point, valuesOf } from './point.ts'

/** What one entry did to an account. */
export interface Line {
  readonly shard: number
  readonly seq: bigint
  /** The call, purchase or grant. */
  readonly id: string
  readonly event: LedgerEvent['type']
  /** When it was booked: ISO 8601 in UTC, to the microsecond. */
  readonly bookedAt: string
  /** When it counts; earlier than `bookedAt` for what happened outside. */
  readonly valueAt: string
  /** Credit-positive, in units of the asset. */
  readonly amount: bigint
  /** The other accounts of the entry. */
  readonly contra: readonly Account[]
  readonly meta: Readonly<Record<string, unknown>> | null
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

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

/** Which entry it is, when it was booked and when it counts: of `journal j` and `kind k`. */
export const ENTRY_COLUMNS = `j.id, k.event, j.meta,
  to_char(j.at AT TIME ZONE 'UTC', ${ISO}) AS "bookedAt",
  to_char(coalesce(j.effective_at, j.at) AT TIME ZONE 'UTC', ${ISO}) AS "valueAt"`

/** What the journal tells of the entry (shard, seq) of `e`. */
const COLUMNS = `e.shard, e.seq, e.amount, ${ENTRY_COLUMNS},
  ARRAY(SELECT a.code FROM ledger.legs(j) l JOIN ledger.account a ON a.id = l.account
    WHERE l.account <> $1 ORDER BY l.n) AS contra`
const JOURNAL = `CROSS JOIN LATERAL (SELECT * FROM ledger.journal j
    WHERE j.shard = e.shard AND j.seq = e.seq LIMIT 1) j
  JOIN ledger.kind k ON k.id = j.kind`

/** The next entries in the order of booking, those of a shard by one scan of each partition. */
const ENTRIES = {
  name: 'ledger.statement-entries',
  text: `SELECT ${COLUMNS}
    FROM (SELECT r.shard, r.seq, r.at, r AS row, p.amounts[array_position(p.seqs, r.seq)] AS amount
      FROM (SELECT c.shard, n.seqs, n.amounts, i.* FROM ledger.account a
        JOIN ledger.cut($2, $3, $4) c ON c.shard = a.home OR a.home IS NULL
        JOIN ledger.cut($5, $6, $7) e ON e.shard = c.shard
        CROSS JOIN LATERAL (SELECT array_agg(n.seq) AS seqs, array_agg(n.amount) AS amounts
          FROM ledger.next_entries($1, c.shard, c.seq, e.seq, $8) n) n
        CROSS JOIN LATERAL ledger.ids_between(c.shard, n.seqs[1], n.seqs[cardinality(n.seqs)]) i
        WHERE a.id = $1 OFFSET 0) p -- before the journal: it leaves partitions out
      JOIN ledger.journal r ON r.shard = p.shard AND r.seq = ANY (p.seqs)
        AND r.id BETWEEN p.id_first AND p.id_last
      ORDER BY r.at, r.shard, r.seq LIMIT $8) e
    CROSS JOIN LATERAL (SELECT (e.row).*) j
    JOIN ledger.kind k ON k.id = j.kind
    ORDER BY e.at, e.shard, e.seq`,
}
const LATE = {
  name: 'ledger.statement-late',
  text: `SELECT ${COLUMNS} FROM ledger.late($2, $3, $4, $1) e ${JOURNAL}`,
}

/**
 * The first lines of an account after a point, at most `limit`, in order. The journal gives entries
 * in the order of booking; up to where a few of them reach, nothing else can come between but what
 * was booked late, and that the database finds by its value date.
 */
export async function readLines(
  client: PoolClient,
  account: bigint,
  { start, end, limit, passed }: LineRange,
): Promise<Line[]> {
  const ahead = limit + passed
  const values = [account, ...valuesOf(start), ...valuesOf(end), ahead]
  const { rows: entries } = await client.query<Line>({ ...ENTRIES, values })
  const last = entries.length === ahead ? entries.at(-1) : undefined
  const reach = last === undefined ? end : { ...last, at: last.bookedAt }
  const late = await client.query<Line>({ ...LATE, values: [account, ...valuesOf(reach)] })
  return [...entries, ...late.rows]
    .filter((line) => isAfter(pointOf(line), start))
    .sort((a, b) => inOrder(pointOf(a), pointOf(b)))
    .slice(0, limit)
    .map((line) => ({ ...line, contra: [...new Set(line.contra)] }))
}

/** The place of a line in a statement. */
export const pointOf = ({ valueAt: at, shard, seq }: Line): Point => ({ at, shard, seq })
