import type { Pool, PoolClient } from 'pg'
import { readTogether } from '../../db/transaction.ts'
import type { Account, Asset } from '../events.ts'
import { type Line, pointOf, readLines } from './lines.ts'
import { isAfter, type Point, parsePoint, startOf, valuesOf, writePoint } from './point.ts'

/** A line of a statement. */
export interface Movement extends Line {
  /** What the account held after it. */
  readonly balance: bigint
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
    const movements = withBalance(page, balance)
    const last = lines.length > limit ? page.at(-1) : undefined
    const next = last && { nextCursor: writePoint(pointOf(last)) }
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

/** Lines with what the account held after each. */
function withBalance(lines: readonly Line[], opening: bigint): Movement[] {
  let balance = opening
  return lines.map((line) => {
    balance += line.amount
    return { ...line, balance }
  })
}
