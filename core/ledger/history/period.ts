import type { ClientBase, DatabaseError, Pool } from 'pg'

/** A month whose books are closed. */
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
 * Closes a UTC month (`2026-11`), and every month before it that is still open, for good: nothing
 * is booked into them any more, and a later entry that belongs there becomes one of the open month
 * (`Ledger.post`).
 * @returns the months that it closed, in order; none when they were closed already
 * @throws NotClosable for what is no month, is not over yet, or has no author
 */
export async function closePeriod(
  pool: Pool | ClientBase,
  month: string,
  author: string,
): Promise<readonly string[]> {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) throw new NotClosable(`not a month: ${month}`)
  if (author.trim() === '') throw new NotClosable('whoever closes a month says who it is')
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

/** The closed months, in order. Whatever lies before the first of them is closed too. */
export async function closedPeriods(pool: Pool): Promise<ClosedPeriod[]> {
  const { rows } = await pool.query<ClosedPeriod>(
    `SELECT to_char(month, 'YYYY-MM') AS month, closed_at AS "closedAt", author
     FROM ledger.period ORDER BY period.month`,
  )
  return rows
}
