import type { Pool } from 'pg'
import { pause } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { logFailure } from '../../outages.ts'
import { type ChannelListener, listenOnChannel } from '../listen.ts'
import { createPool } from '../pool.ts'

/** Pause between two readings of the nodes of the cluster. */
const READ_MS = 5_000

/**
 * Listens on a channel of each worker of a cluster until the signal aborts, because a batch
 * notifies where it is posted. Starts and stops as workers are added and removed. Logs in as `pool`
 * does.
 */
export async function listenOnWorkers(
  pool: Pool,
  channel: ChannelListener,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const listeners = new Map<string, { stop(): Promise<void> }>()
  while (!signal.aborted) {
    try {
      const workers = await readWorkers(pool)
      for (const url of workers) {
        if (!listeners.has(url)) listeners.set(url, startListener(url, channel, log))
      }
      const removed = [...listeners.keys()].filter((url) => !workers.includes(url))
      for (const url of removed) {
        await listeners.get(url)!.stop()
        listeners.delete(url)
      }
    } catch (err) {
      logFailure(log, 'warn', { err }, 'failed to read the nodes of the cluster')
    }
    await pause(READ_MS, signal)
  }
  await Promise.all([...listeners.values()].map((each) => each.stop()))
}

/** Returns the connection strings of the workers. */
async function readWorkers(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ host: string; port: number }>(
    `SELECT nodename AS host, nodeport AS port FROM pg_dist_node
     WHERE groupid > 0 AND isactive AND noderole = 'primary' ORDER BY nodeid`,
  )
  return rows.map(({ host, port }) => {
    const url = new URL(pool.options.connectionString!)
    url.hostname = host
    url.port = String(port)
    return url.href
  })
}

function startListener(url: string, channel: ChannelListener, log: Log): { stop(): Promise<void> } {
  const pool = createPool(url, { max: 1, statementMs: 0 })
  const stopping = new AbortController()
  const ended = listenOnChannel(pool, channel, log, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await ended
      await pool.end()
    },
  }
}
