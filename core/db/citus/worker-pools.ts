import type { Pool } from 'pg'
import { createPool } from '../pool.ts'
import { isDistributed } from './is-distributed.ts'

/**
 * Opens a pool of one connection to each worker of a cluster, with the login of `pool`, to listen
 * there: a batch notifies where it is posted. Returns none without a cluster.
 */
export async function openWorkerPools(pool: Pool): Promise<readonly Pool[]> {
  const { connectionString } = pool.options
  if (connectionString === undefined || !(await isDistributed(pool))) return []
  const { rows } = await pool.query<{ host: string; port: number }>(
    `SELECT nodename AS host, nodeport AS port FROM pg_dist_node
     WHERE groupid > 0 AND isactive AND noderole = 'primary' ORDER BY nodeid`,
  )
  return rows.map(({ host, port }) => {
    const url = new URL(connectionString)
    url.hostname = host
    url.port = String(port)
    return createPool(url.href, { max: 1, statementMs: 0 })
  })
}
