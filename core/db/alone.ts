import type { Pool } from 'pg'

/**
 * Runs `work`, unless somebody does under this name already. The lock is a connection's: whoever
 * dies has it no longer.
 * @param pool whose sessions last: none of PgBouncer's
 * @returns undefined: another one is at it
 */
export async function alone<T>(
  pool: Pool,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect()
  let broken = true
  try {
    const { rows } = await client.query<{ mine: boolean }>(
      'SELECT pg_try_advisory_lock(hashtext($1)) AS mine',
      [name],
    )
    const { mine } = rows[0]!
    const result = mine ? work() : undefined
    await Promise.allSettled([result])
    if (mine) await client.query('SELECT pg_advisory_unlock(hashtext($1))', [name])
    broken = false
    return await result
  } finally {
    client.release(broken) // the lock is gone with a connection that is broken
  }
}
