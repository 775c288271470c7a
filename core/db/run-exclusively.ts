import type { Pool } from 'pg'

/**
 * Runs `work` under an advisory lock, unless another process holds the lock of that name. The lock
 * belongs to a connection: it is released when the process dies. It is also lost when that
 * connection is, as in a failover, and then another process may begin before this one has noticed.
 * `work` must therefore be idempotent. The signal shortens the overlap.
 * @param pool direct connections, not PgBouncer's: the lock needs a session
 * @param work stops soon after `lost` aborts, which it does when the connection is lost
 * @returns undefined if another process holds the lock
 */
export async function runExclusively<T>(
  pool: Pool,
  name: string,
  work: (lost: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect()
  const lost = new AbortController()
  const onLost = (error?: Error): void => lost.abort(error)
  client.on('error', onLost).on('end', onLost)
  let mustDiscard = true
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_lock(hashtext($1)) AS locked',
      [name],
    )
    const { locked } = rows[0]!
    const result = locked ? work(lost.signal) : undefined
    await Promise.allSettled([result])
    if (locked) await client.query('SELECT pg_advisory_unlock(hashtext($1))', [name])
    mustDiscard = false
    return await result
  } finally {
    client.off('error', onLost).off('end', onLost)
    client.release(mustDiscard) // closing the connection releases its lock
  }
}
