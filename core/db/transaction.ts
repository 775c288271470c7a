import type { Pool, PoolClient } from 'pg'

/**
 * Runs `work` in one transaction: all of it is committed, or none.
 * @param settings for this transaction, as in `SET LOCAL jit = off`
 */
export const inTransaction = <T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  settings = '',
): Promise<T> => between(`BEGIN; ${settings}`, pool, work)

/**
 * Reads in one transaction: all that `work` sees is of one instant of the database.
 * @param settings for this transaction, as in `SET LOCAL jit = off`
 */
export const readTogether = <T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  settings = '',
): Promise<T> => between(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settings}`, pool, work)

/** Runs `work` in a transaction of which nothing stays: to see what it would do. */
export const tryOut = <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  between('BEGIN', pool, work, 'ROLLBACK')

async function between<T>(
  begin: string,
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  end = 'COMMIT',
): Promise<T> {
  const client = await pool.connect()
  let broken = false
  try {
    await client.query(begin)
    const result = await work(client)
    await client.query(end)
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => (broken = true)) // it has rolled back already
    throw error
  } finally {
    client.release(broken)
  }
}

/**
 * In the FROM of a statement that is a transaction by itself: its commit does not wait for the
 * disk. For what means nothing without a commit that comes after it and does wait: the log is
 * written in order, so that a crash, and a change of server, loses neither, the later one, or both.
 * Only who outlives a crash between the two, and asks again for the later one, has lost the first.
 */
export const UNHURRIED = `set_config('synchronous_commit', 'off', true)`
