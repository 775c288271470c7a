import type { Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction: all of it is committed, or none. */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {}) // a broken connection has rolled back already
    throw error
  } finally {
    client.release()
  }
}
