import type { PoolClient } from 'pg'
import type { Account, LedgerEvent } from '../events.ts'
import { comparePoints, isAfter, type Point, toValues } from './point.ts'

export interface StatementLine {
  readonly shard: number
  readonly seq: bigint
  /** Id of the call, purchase, payment or correction; shared by all of its entries. */
  readonly id: string
  readonly event: LedgerEvent['type']
  /** Time of posting: ISO 8601 in UTC, with microseconds. */
  readonly bookedAt: string
  /** Value date; earlier than `bookedAt` for events outside the hub. */
  readonly valueAt: string
  /** Credit-positive, in units of the asset. */
  readonly amount: bigint
  readonly contra: readonly Account[]
  readonly meta: Readonly<Record<string, unknown>> | null
}

export interface StatementLineRange {
  readonly start: Point
  readonly end: Point
  readonly limit: number
  /** Number of the account's entries that were posted after `start` but valued up to it. */
  readonly passed: number
}

const ISO_FORMAT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

/** SQL columns of an entry: id, event, metadata and dates, from `journal j` and `kind k`. */
export const ENTRY_COLUMNS = `j.id, k.event, j.meta,
  to_char(j.at AT TIME ZONE 'UTC', ${ISO_FORMAT}) AS "bookedAt",
  to_char(coalesce(j.effective_at, j.at) AT TIME ZONE 'UTC', ${ISO_FORMAT}) AS "valueAt"`

/** SQL columns of a statement line, for the entry (shard, seq) of `e`. */
const LINE_COLUMNS = `e.shard, e.seq, e.amount, ${ENTRY_COLUMNS},
  ARRAY(SELECT a.code FROM ledger.legs(j) l JOIN ledger.account a ON a.id = l.account
    WHERE l.account <> $1 ORDER BY l.n) AS contra`
const JOURNAL_JOIN = `CROSS JOIN LATERAL (SELECT * FROM ledger.journal j
    WHERE j.shard = e.shard AND j.seq = e.seq LIMIT 1) j
  JOIN ledger.kind k ON k.id = j.kind`

/** Next entries in the order of posting, with one scan of each partition per shard. */
const ENTRIES = {
  name: 'ledger.statement-entries',
  text: `SELECT ${LINE_COLUMNS}
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
  text: `SELECT ${LINE_COLUMNS} FROM ledger.late($2, $3, $4, $1) e ${JOURNAL_JOIN}`,
}

/**
 * Reads the first `limit` lines of an account after a point, in order. The journal is in the order
 * of posting: up to the last entry read from it, only entries that were posted late are missing,
 * and those are found by value date.
 */
export async function readStatementLines(
  client: PoolClient,
  account: bigint,
  { start, end, limit, passed }: StatementLineRange,
): Promise<StatementLine[]> {
  const ahead = limit + passed
  const values = [account, ...toValues(start), ...toValues(end), ahead]
  const { rows: entries } = await client.query<StatementLine>({ ...ENTRIES, values })
  const last = entries.length === ahead ? entries.at(-1) : undefined
  const reach = last === undefined ? end : { ...last, at: last.bookedAt }
  const late = await client.query<StatementLine>({ ...LATE, values: [account, ...toValues(reach)] })
  return [...entries, ...late.rows]
    .filter((line) => isAfter(pointOf(line), start))
    .sort((a, b) => comparePoints(pointOf(a), pointOf(b)))
    .slice(0, limit)
    .map((line) => ({ ...line, contra: [...new Set(line.contra)] }))
}

export const pointOf = ({ valueAt: at, shard, seq }: StatementLine): Point => ({ at, shard, seq })
