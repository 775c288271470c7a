import type { Pool, PoolClient } from 'pg'
import type { Checks } from './checks.ts'
import type { Findings } from './findings.ts'

/** Runs `work` on one snapshot of the database, without a statement timeout. */
export async function inSnapshot<T>(
  pool: Pool,
  mode: 'READ ONLY' | 'READ WRITE',
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let sound = false
  try {
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ ${mode}`)
    // Holds and their outcomes are in the same partition: joins can process one at a time.
    await client.query(
      `SET LOCAL statement_timeout = 0; SET LOCAL enable_partitionwise_join = on;
       SET LOCAL enable_partitionwise_aggregate = on; SET LOCAL jit = off;
       SET LOCAL work_mem = '64MB'`,
    )
    const result = await work(client)
    await client.query('COMMIT')
    sound = true
    return result
  } finally {
    client.release(!sound)
  }
}

/** Runs checks in the database, which may spill to disk; each returns one row. */
export async function runChecks(
  client: PoolClient,
  checks: Checks,
  findings: Findings,
): Promise<void> {
  for (const [name, sql] of Object.entries(checks)) {
    findings.list(name)
    const { rows } = await client.query<{ bad: string; example: string }>(
      `SELECT (count(*) OVER ())::text AS bad, v.example FROM (${sql}) v
       ORDER BY v.shard, v.seq, v.example LIMIT 1`,
    )
    for (const { bad, example } of rows) findings.add(name, example, BigInt(bad))
  }
}
