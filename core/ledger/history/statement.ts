import type { Pool, PoolClient } from 'pg'
import { readTogether } from '../../db/transaction.ts'
import type { Account, Asset, LedgerEvent } from '../events.ts'
import { type Line, readLines } from './lines.ts'
import { isAfter, type Point, parsePoint, startOf, valuesOf, writePoint } from './point.ts'

/** What one entry did to the account. */
export interface Movement {
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
  /** What the account held after it. */
  readonly balance: bigint
  /** The other accounts of the entry. */
  readonly contra: readonly Account[]
  readonly meta: Readonly<Record<string, unknown>> | null
}

/** An account over a period: opening + credits - debits = closing. */
export interface Statement {
  readonly account: Account
  readonly asset: Asset
  readonly opening: bigint
  readonly closing: bigint
  /** Of all movements of the period, not only of this page. */
  readonly debits: bigint
  readonly credits: bigint
  /** By value date, then shard and sequence. */
  readonly movements: readonly Movement[]
  /** Where the next page begins; left out on the last one. */
  readonly nextCursor?: string
}

export interface StatementRange {
  /** The first instant of the period. */
  readonly from: Date
  /** The first instant after it. */
  readonly to: Date
  /** The cursor of the page before. */
  readonly after?: string | undefined
  /** Most movements of a page. @defaultValue 100 */
  readonly limit?: number | undefined
}

/**
 * The movements of an account with a value date in a period, a page of them, with the running
 * balance. A page costs the same wherever it lies, and however much the period holds.
 * @returns undefined when there is no such account
 * @throws RangeError for a cursor that is none, or a period that ends before it begins
 */
export function statement(
  pool: Pool,
  account: Account,
  { from, to, after, limit = 100 }: StatementRange,
): Promise<Statement | undefined> {
  if (to < from) throw new RangeError('the period ends before it begins')
  const [first, end] = [startOf(from), startOf(to)]
  const cursor = after === undefined ? first : parsePoint(after)
  const start = isAfter(cursor, first) ? cursor : first
  const work = async (client: PoolClient): Promise<Statement | undefined> => {
    const sums = await readSums(client, account, { first, start, end })
    if (sums === undefined) return undefined
    const { id, asset, opening, closing, balance, debits, credits, passed } = sums
    const lines = await readLines(client, id, { start, end, limit: limit + 1, passed })
    const page = lines.slice(0, limit)
    const movements = await describe(client, id, page, balance)
    const last = lines.length > limit ? page.at(-1) : undefined
    const next = last && { nextCursor: writePoint(last.point) }
    return { account, asset, opening, closing, debits, credits, movements, ...next }
  }
  return readTogether(pool, work, SETTINGS)
}

/** Every plan is known: a few probes of indexes. Making it takes longer than running it. */
const SETTINGS = `SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off;
  SET LOCAL jit = off`

const SUMS = {
  name: 'ledger.statement-sums',
  text: `SELECT a.id, s.code AS asset, f.credits - f.debits AS opening,
      e.credits - e.debits AS closing,
      coalesce(c.credits - c.debits, f.credits - f.debits) AS balance,
      e.debits - f.debits AS debits, e.credits - f.credits AS credits,
      (SELECT count(*)::integer FROM ledger.late($5, $6, $7, a.id)) AS passed
    FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset
    CROSS JOIN LATERAL ledger.totals_at(ARRAY[a.id], $2, $3, $4) f
    CROSS JOIN LATERAL ledger.totals_at(ARRAY[a.id], $8, $9, $10) e
    LEFT JOIN LATERAL (SELECT * FROM ledger.totals_at(ARRAY[a.id], $5, $6, $7)
      WHERE $6::smallint >= 0) c ON true -- the first page starts at the opening
    WHERE a.code = $1`,
}

interface Sums {
  readonly id: bigint
  readonly asset: Asset
  readonly opening: bigint
  readonly closing: bigint
  /** At the start of the page. */
  readonly balance: bigint
  readonly debits: bigint
  readonly credits: bigint
  readonly passed: number
}

async function readSums(
  client: PoolClient,
  account: Account,
  { first, start, end }: Readonly<Record<'first' | 'start' | 'end', Point>>,
): Promise<Sums | undefined> {
  const values = [account, ...[first, start, end].flatMap(valuesOf)]
  const { rows } = await client.query<Record<keyof Sums, never>>({ ...SUMS, values })
  const [row] = rows
  if (row === undefined) return undefined
  const { opening, closing, balance, debits, credits } = row // numeric: text
  return {
    ...row,
    opening: BigInt(opening),
    closing: BigInt(closing),
    balance: BigInt(balance),
    debits: BigInt(debits),
    credits: BigInt(credits),
  }
}

const DETAILS = {
  name: 'ledger.statement-details',
  text: `SELECT j.id, k.event, j.meta,
      ARRAY(SELECT a.code FROM ledger.legs(j) l JOIN ledger.account a ON a.id = l.account
        WHERE l.account <> $1 ORDER BY l.n) AS contra
    FROM unnest($2::smallint[], $3::bigint[]) WITH ORDINALITY u(shard, seq, n)
    CROSS JOIN LATERAL (SELECT * FROM ledger.journal r
      WHERE r.shard = u.shard AND r.seq = u.seq LIMIT 1) j
    JOIN ledger.kind k ON k.id = j.kind
    ORDER BY u.n`,
}

/** The entries of lines, with what the account held after each. */
async function describe(
  client: PoolClient,
  account: bigint,
  lines: readonly Line[],
  opening: bigint,
): Promise<Movement[]> {
  if (lines.length === 0) return []
  const shards = lines.map(({ point }) => point.shard)
  const seqs = lines.map(({ point }) => point.seq)
  const { rows } = await client.query<Pick<Movement, 'id' | 'event' | 'meta' | 'contra'>>({
    ...DETAILS,
    values: [account, shards, seqs],
  })
  let balance = opening
  return rows.map((row, i) => {
    const { point, bookedAt, amount } = lines[i]!
    const { shard, seq, at: valueAt } = point
    const contra = [...new Set(row.contra)]
    balance += amount
    return { ...row, shard, seq, bookedAt, valueAt, contra, amount, balance }
  })
}
