import type { Pool } from 'pg'

/**
 * Runs `work` under an advisory lock, unless another process holds the lock of that name. The lock
 * belongs to a connection: it is released when the process dies.
 * @param pool direct connections, not PgBouncer's: the lock needs a session
 * @returns undefined if another process holds the lock
 */
export async function runExclusively<T>(
  pool: Pool,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect()
  let mustDiscard = true
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_lock(hashtext($1)) AS locked',
      [name],
    )
    const { locked } = rows[0]!
    const result = locked ? work() : undefined
    await Promise.allSettled([result])
    if (locked) await client.query('SELECT pg_advisory_unlock(hashtext($1))', [name])
    mustDiscard = false
    return await result
  } finally {
    client.release(mustDiscard) // closing the connection releases its lock
  }
}
