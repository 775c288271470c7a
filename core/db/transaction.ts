import type { ClientBase, Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction, after `settings`, such as `SET LOCAL jit = off`. */
export const inTransaction = <T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  settings = '',
): Promise<T> => runInTransaction(`BEGIN; ${settings}`, pool, work)

/** Runs `work` in a read-only snapshot, after `settings`, such as `SET LOCAL jit = off`. */
export const readSnapshot = <T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  settings = '',
): Promise<T> =>
  runInTransaction(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settings}`, pool, work)

/** Runs `work` in a transaction that is rolled back: a dry run. */
export const inRolledBackTransaction = <T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> => runInTransaction('BEGIN', pool, work, 'ROLLBACK')

/** Runs `work` in one transaction of a connection that the caller holds. */
export async function inTransactionOn(
  client: ClientBase,
  work: () => Promise<void>,
): Promise<void> {
  await client.query('BEGIN')
  try {
    await work()
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {}) // the connection is lost
    throw error
  }
}

async function runInTransaction<T>(
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
    await client.query('ROLLBACK').catch(() => (broken = true)) // the connection is lost
    throw error
  } finally {
    client.release(broken)
  }
}

/**
 * SQL for the FROM clause of a single-statement transaction: its commit does not wait for the disk.
 * Use it only for data that is useless without a later, synchronous commit. The WAL is written in
 * order, so a crash or failover loses neither, the later one or both. A client that survives a
 * crash between the two and repeats only the later commit has lost the first.
 */
export const ASYNC_COMMIT = `set_config('synchronous_commit', 'off', true)`
