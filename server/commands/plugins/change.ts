import type { Pool } from 'pg'
import { sleep } from '../../../core/clock.ts'
import { type Entry, writeEntry } from '../../../core/hosting/entry.ts'
import type { Report } from '../../../core/hosting/plugin-set.ts'

/** What a process of the hub has of a plugin; undefined: it has not looked yet. */
export interface Standing {
  readonly process: string
  readonly report: Report | undefined
}

/** Has every process open a plugin anew. @returns the generation that they are to come to */
export async function announce(pool: Pool, entry: Entry, removed = false): Promise<number> {
  const { rows } = await pool.query<{ generation: number }>(
    `INSERT INTO hub.plugin AS p (spec, entry, removed) VALUES ($1, $2, $3)
     ON CONFLICT (spec) DO UPDATE SET entry = $2, removed = $3, generation = p.generation + 1,
       changed_at = now()
     RETURNING generation`,
    [entry.spec, writeEntry(entry), removed],
  )
  return rows[0]!.generation
}

/** What `hub.plugin` says of a plugin. */
export async function announced(pool: Pool, spec: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ entry: string }>(
    'SELECT entry FROM hub.plugin WHERE spec = $1 AND NOT removed',
    [spec],
  )
  return rows[0]?.entry
}

/** A process says every ten seconds that it lives. */
const LIVES = `seen_at > now() - interval '30 seconds'`

/** What each process that lives runs: by process, and then by plugin. */
export async function standings(
  pool: Pool,
): Promise<readonly { process: string; plugins: Readonly<Record<string, Report>> }[]> {
  const { rows } = await pool.query<{ process: string; plugins: Record<string, Report> }>(
    `SELECT process, plugins FROM hub.plugin_process WHERE ${LIVES} ORDER BY process`,
  )
  return rows
}

const LOOK_MS = 200
const PATIENCE_MS = 30_000

/** Waits until every process has come to a generation, or for half a minute. */
export async function settled(
  pool: Pool,
  spec: string,
  generation: number,
): Promise<readonly Standing[]> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const all = (await standings(pool)).map(({ process, plugins }) => ({
      process,
      report: plugins[spec],
    }))
    const isSettled = all.every(({ report }) => (report?.generation ?? 0) >= generation)
    if (isSettled || waited > PATIENCE_MS) return all
    await sleep(LOOK_MS)
  }
}
