import type { Pool } from 'pg'
import type { Account, Asset, LedgerEvent } from '../events.ts'
import { formatPoint, isAfter, parsePoint, startOf, toValues } from './point.ts'

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

/** Sums and lines as text: JSON numbers and JavaScript's numbers are inexact above 2^53. */
interface StatementRow
  extends Record<'opening' | 'closing' | 'balance' | 'debits' | 'credits', string> {
  /** Null if there is no such account. */
  readonly asset: Asset | null
  readonly lines: readonly (Omit<StatementLine, 'seq' | 'amount'> &
    Record<'seq' | 'amount', string>)[]
}

/**
 * Reads a page of an account's movements with a value date in a period, with the running balance.
 * The cost of a page is independent of its position and of the size of the period.
 * @returns undefined if there is no such account
 * @throws RangeError for a malformed cursor, or a period that ends before it begins
 */
export async function statement(
  pool: Pool,
  account: Account,
  { from, to, after, limit = 100 }: StatementRange,
): Promise<Statement | undefined> {
  if (to < from) throw new RangeError('the period ends before it begins')
  const first = startOf(from)
  const cursor = after === undefined ? first : parsePoint(after)
  const start = isAfter(cursor, first) ? cursor : first
  const { rows } = await pool.query<StatementRow>({
    name: 'ledger.statement',
    text: 'SELECT * FROM ledger.statement($1, $2, $3, $4, $5, $6, $7)',
    values: [account, from, ...toValues(start), to, limit + 1],
  })
  const { asset, opening, closing, balance, debits, credits, lines } = rows[0]!
  if (asset === null) return undefined
  const movements = addRunningBalance(lines.slice(0, limit), BigInt(balance))
  const last = lines.length > limit ? movements.at(-1) : undefined
  return {
    account,
    asset,
    opening: BigInt(opening),
    closing: BigInt(closing),
    debits: BigInt(debits),
    credits: BigInt(credits),
    movements,
    ...(last && { nextCursor: formatPoint({ ...last, at: last.valueAt }) }),
  }
}

function addRunningBalance(lines: StatementRow['lines'], opening: bigint): Movement[] {
  let balance = opening
  return lines.map((line) => {
    const amount = BigInt(line.amount)
    balance += amount
    return { ...line, seq: BigInt(line.seq), amount, balance }
  })
}
