import type { Pool } from 'pg'
import { readShards } from '../shards.ts'
import type { Verification } from './findings.ts'
import { readUnverified } from './unverified.ts'

/** Results of the last runs of the verification jobs: of new entries, and of all. */
export interface LastVerification {
  readonly at: Date
  /** Time of the last run that found no violation; null if there was none. */
  readonly soundAt: Date | null
  readonly soundAgeSeconds: number | null
  /** End of the last verification of all entries; null before the first. */
  readonly fullAt: Date | null
  /** Age of the last verification of all entries that found no violation. */
  readonly fullSoundAgeSeconds: number | null
  /** Failed checks of both, each with its first violation; empty if there are none. */
  readonly failures: readonly string[]
}

/** Returns undefined before the first run. */
export async function readLastVerification(pool: Pool): Promise<LastVerification | undefined> {
  const { rows } = await pool.query<LastVerification>(
    `SELECT at, sound_at AS "soundAt", failures || full_failures AS failures,
       full_at AS "fullAt",
       extract(epoch FROM clock_timestamp() - full_sound_at)::integer AS "fullSoundAgeSeconds",
       extract(epoch FROM clock_timestamp() - sound_at)::integer AS "soundAgeSeconds"
     FROM ledger.verification`,
  )
  return rows[0]
}

/** Entries of a shard that are verified without waiting a minute, so that no run takes long. */
const MANY_ENTRIES = 20_000n

/**
 * Returns true a minute after the last run, or sooner if a shard has many unverified entries. While
 * runs find violations, their entries stay unverified: then a minute passes between them.
 */
export async function isVerificationDue(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ due: boolean; isSound: boolean }>(
    `SELECT at < clock_timestamp() - interval '1 minute' AS due, failures = '{}' AS "isSound"
     FROM ledger.verification`,
  )
  const [last] = rows
  if (!last || last.due) return true
  if (!last.isSound) return false
  for (const shard of await readShards(pool)) {
    if ((await readUnverified(pool, shard)).entries >= MANY_ENTRIES) return true
  }
  return false
}

/** Returns true if the last verification of all entries failed, or it or the first entry is old. */
export async function isFullVerificationDue(pool: Pool): Promise<boolean> {
  const { rows: runs } = await pool.query<{ at: string | null }>(
    `SELECT CASE full_failures WHEN '{}' THEN full_at::text ELSE '-infinity' END AS at
     FROM ledger.verification`,
  )
  const since = runs[0]?.at ? [runs[0].at] : await firstEntries(pool)
  const { rows } = await pool.query<{ due: boolean }>(
    `SELECT coalesce(min(u.at) < clock_timestamp() - interval '1 day', false) AS due
     FROM unnest($1::timestamptz[]) u(at)`,
    [since],
  )
  return rows[0]!.due
}

/** Reads when the first entry of each shard was posted. */
async function firstEntries(pool: Pool): Promise<readonly string[]> {
  const found: string[] = []
  for (const shard of await readShards(pool)) {
    const { rows } = await pool.query<{ at: string }>(
      `SELECT s.at::text AS at FROM ledger.seal s
       WHERE s.shard = $1 ORDER BY s.shard, s.seq_to LIMIT 1`,
      [shard],
    )
    found.push(...rows.map(({ at }) => at))
  }
  return found
}

/**
 * Stores the result of a run.
 * @param scope new: of the entries since the last one
 */
export async function recordVerification(
  pool: Pool,
  { checks }: Verification,
  scope: 'new' | 'all' = 'new',
): Promise<void> {
  const failures = checks
    .filter(({ bad }) => bad > 0n)
    .map(({ name, bad, example }) => `${name}: ${bad}, first ${example}`)
  const record = scope === 'new' ? 'record_verification' : 'record_full_verification'
  await pool.query(`SELECT ledger.${record}($1)`, [failures])
}
