import type { ClientBase, DatabaseError, Pool } from 'pg'

/** A closed month: it accepts no more entries. */
export interface ClosedPeriod {
  /** A UTC month, `2026-11`. */
  readonly month: string
  readonly closedAt: Date
  readonly author: string
}

/** The month cannot be closed; the message says why. */
export class NotClosable extends Error {
  override readonly name = 'NotClosable'
}

const CHECK_VIOLATION = '23514'

/**
 * Closes a UTC month (`2026-11`) and every earlier open month permanently. Later entries with a
 * value date in a closed month are dated when they are posted (`Ledger.post`).
 * @returns the months closed by this call, in order; empty if all were closed before
 * @throws NotClosable if the month is malformed or not over yet, or if the author is empty
 */
export async function closePeriod(
  pool: Pool | ClientBase,
  month: string,
  author: string,
): Promise<readonly string[]> {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) throw new NotClosable(`not a month: ${month}`)
  if (author.trim() === '') throw new NotClosable('closing a month requires an author')
  try {
    const { rows } = await pool.query<{ month: string }>(
      `SELECT to_char(m, 'YYYY-MM') AS month FROM ledger.close_period($1, $2) m ORDER BY m`,
      [`${month}-01`, author],
    )
    return rows.map((row) => row.month)
  } catch (error) {
    const { code, message } = error as DatabaseError
    throw code === CHECK_VIOLATION ? new NotClosable(message, { cause: error }) : error
  }
}

/** Reads the closed months, in order. All months before the first one are closed too. */
export async function closedPeriods(pool: Pool | ClientBase): Promise<ClosedPeriod[]> {
  const { rows } = await pool.query<ClosedPeriod>(
    `SELECT to_char(month, 'YYYY-MM') AS month, closed_at AS "closedAt", author
     FROM ledger.period p ORDER BY p.month`,
  )
  return rows
}
