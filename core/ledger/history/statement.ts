import type { Pool, PoolClient } from 'pg'
import { readSnapshot } from '../../db/transaction.ts'
import type { Account, Asset } from '../events.ts'
import { formatPoint, isAfter, type Point, parsePoint, startOf, toValues } from './point.ts'
import { pointOf, readStatementLines, type StatementLine } from './statement-lines.ts'

export interface Movement extends StatementLine {
  readonly balance: bigint
}

/** Statement of an account over a period: opening + credits - debits = closing. */
export interface Statement {
  readonly account: Account
  readonly asset: Asset
  readonly opening: bigint
  readonly closing: bigint
  /** Total of the period, not only of this page. */
  readonly debits: bigint
  readonly credits: bigint
  /** Ordered by value date, then shard and sequence. */
  readonly movements: readonly Movement[]
  /** Cursor of the next page; omitted on the last page. */
  readonly nextCursor?: string
}

export interface StatementRange {
  readonly from: Date
  readonly to: Date
  readonly after?: string | undefined
  /** Movements per page, at most. @defaultValue 100 */
  readonly limit?: number | undefined
}

/**
 * Reads a page of an account's movements with a value date in a period, with the running balance.
 * The cost of a page is independent of its position and of the size of the period.
 * @returns undefined if there is no such account
 * @throws RangeError for a malformed cursor, or a period that ends before it begins
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
    const lines = await readStatementLines(client, id, { start, end, limit: limit + 1, passed })
    const page = lines.slice(0, limit)
    const movements = addRunningBalance(page, balance)
    const last = lines.length > limit ? page.at(-1) : undefined
    const next = last && { nextCursor: formatPoint(pointOf(last)) }
    return { account, asset, opening, closing, debits, credits, movements, ...next }
  }
  return readSnapshot(pool, work, PLAN_SETTINGS)
}

/** All plans are a few index probes; planning takes longer than executing. */
const PLAN_SETTINGS = `SET LOCAL plan_cache_mode = force_generic_plan;
  SET LOCAL enable_seqscan = off; SET LOCAL jit = off`

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
      WHERE $6::smallint >= 0 OFFSET 0) c ON true -- not read by the first page: see opening
    WHERE a.code = $1`,
}

interface Sums {
  readonly id: bigint
  readonly asset: Asset
  readonly opening: bigint
  readonly closing: bigint
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
  const values = [account, ...[first, start, end].flatMap(toValues)]
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

function addRunningBalance(lines: readonly StatementLine[], opening: bigint): Movement[] {
  let balance = opening
  return lines.map((line) => {
    balance += line.amount
    return { ...line, balance }
  })
}
