import type { Pool, PoolClient } from 'pg'
import type { Account, Asset, LedgerEvent } from '../events.ts'

/** A part of the journal; what is left out is not limited. */
export interface JournalRange {
  readonly shard?: number
  /** First number of the sequence of each shard. */
  readonly from?: bigint
  /** Last number of the sequence of each shard. */
  readonly to?: bigint
}

/** One leg of an entry, as exports write it. */
export interface ExportedPosting {
  readonly shard: number
  readonly seq: bigint
  /** When it was booked: ISO 8601 in UTC, to the microsecond. */
  readonly at: string
  /** When it happened, if that is known to differ. */
  readonly effectiveAt: string | null
  readonly id: string
  readonly event: LedgerEvent['type']
  readonly account: Account
  readonly asset: Asset
  readonly decimals: number
  /** In units of the asset, credit-positive. */
  readonly amount: bigint
}

const ENTRIES_PER_PAGE = 1_000n
const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`
const PAGE = {
  name: 'ledger.export',
  text: `SELECT p.shard, p.seq::text AS seq, p.id, p.event, p.account, p.asset, s.decimals,
      to_char(p.at AT TIME ZONE 'UTC', ${ISO}) AS at, p.amount::text AS amount,
      CASE WHEN p.effective_at <> p.at
        THEN to_char(p.effective_at AT TIME ZONE 'UTC', ${ISO}) END AS "effectiveAt"
    FROM ledger.posting p JOIN ledger.asset s ON s.code = p.asset
    WHERE p.shard = $1 AND p.seq BETWEEN $2 AND $3
    ORDER BY p.seq, p.n`,
}

/** Runs `read` on one snapshot of the database, however long it takes. */
export async function* onSnapshot<T>(
  pool: Pool,
  read: (client: PoolClient) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const client = await pool.connect()
  let sound = false
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    yield* read(client)
    await client.query('COMMIT')
    sound = true
  } finally {
    client.release(!sound) // also a reader that stops early: its transaction ends with it
  }
}

/**
 * The postings of a range in the order (shard, seq, n), in pages of whole entries. Pages follow the
 * gap-free sequence, so that each costs the same however far it lies, and only one is in memory.
 */
export async function* readPostings(
  client: PoolClient,
  range: JournalRange = {},
): AsyncGenerator<ExportedPosting[]> {
  const { rows: heads } = await client.query<{ shard: number; seq: string }>(
    `SELECT shard, seq::text AS seq FROM ledger.head
     WHERE shard = coalesce($1, shard) ORDER BY shard`,
    [range.shard ?? null],
  )
  for (const { shard, seq } of heads) {
    const last = least(BigInt(seq), range.to)
    for (let from = range.from ?? 1n; from <= last; from += ENTRIES_PER_PAGE) {
      const to = least(from + ENTRIES_PER_PAGE - 1n, last)
      const { rows } = await client.query<Row>({ ...PAGE, values: [shard, from, to] })
      yield rows.map((row) => ({ ...row, seq: BigInt(row.seq), amount: BigInt(row.amount) }))
    }
  }
}

type Row = Omit<ExportedPosting, 'seq' | 'amount'> & { seq: string; amount: string }

const least = (a: bigint, b: bigint | undefined): bigint => (b === undefined || a < b ? a : b)

/** Writes an amount with all decimals of its asset: `formatUnits(-5n, 6)` is `-0.000005`. */
export function formatUnits(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? '-' : ''
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}
