import type { Pool } from 'pg'
import { sleep } from '../../../core/clock.ts'
import { type PluginEntry, writeEntry } from '../../../core/hosting/entry.ts'
import type { PluginReport } from '../../../core/hosting/plugin-set.ts'

/** Report of one hub process about a plugin; undefined until it has checked. */
export interface ProcessReport {
  readonly process: string
  readonly report: PluginReport | undefined
}

/** Requests that every process reload a plugin. @returns the generation to wait for */
export async function requestReload(
  pool: Pool,
  entry: PluginEntry,
  removed = false,
): Promise<number> {
  const { rows } = await pool.query<{ generation: number }>(
    `INSERT INTO hub.plugin AS p (spec, entry, removed) VALUES ($1, $2, $3)
     ON CONFLICT (spec) DO UPDATE SET entry = $2, removed = $3, generation = p.generation + 1,
       changed_at = now()
     RETURNING generation`,
    [entry.spec, writeEntry(entry), removed],
  )
  return rows[0]!.generation
}

/** Finds the entry of a plugin in `hub.plugin`. */
export async function findPluginEntry(pool: Pool, spec: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ entry: string }>(
    'SELECT entry FROM hub.plugin WHERE spec = $1 AND NOT removed',
    [spec],
  )
  return rows[0]?.entry
}

/** SQL condition for live processes, which report every ten seconds. */
const IS_ALIVE = `seen_at > now() - interval '30 seconds'`

/** Lists the live processes with their plugin reports, by spec. */
export async function listProcesses(
  pool: Pool,
): Promise<readonly { process: string; plugins: Readonly<Record<string, PluginReport>> }[]> {
  const { rows } = await pool.query<{ process: string; plugins: Record<string, PluginReport> }>(
    `SELECT process, plugins FROM hub.plugin_process WHERE ${IS_ALIVE} ORDER BY process`,
  )
  return rows
}

const POLL_INTERVAL_MS = 200
const RELOAD_TIMEOUT_MS = 30_000

/** Waits until every process has reached a generation, at most 30 seconds. */
export async function waitForGeneration(
  pool: Pool,
  spec: string,
  generation: number,
): Promise<readonly ProcessReport[]> {
  for (let waited = 0; ; waited += POLL_INTERVAL_MS) {
    const all = (await listProcesses(pool)).map(({ process, plugins }) => ({
      process,
      report: plugins[spec],
    }))
    const isSettled = all.every(({ report }) => (report?.generation ?? 0) >= generation)
    if (isSettled || waited > RELOAD_TIMEOUT_MS) return all
    await sleep(POLL_INTERVAL_MS)
  }
}
