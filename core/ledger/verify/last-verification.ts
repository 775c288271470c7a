import type { Pool } from 'pg'
import type { Verification } from './findings.ts'

/** Result of the last run of the verification job. */
export interface LastVerification {
  readonly at: Date
  /** Time of the last run that found no violation; null if there was none. */
  readonly soundAt: Date | null
  readonly soundAgeSeconds: number | null
  /** Failed checks, each with its first violation; empty if there are none. */
  readonly failures: readonly string[]
}

/** Returns undefined before the first run. */
export async function readLastVerification(pool: Pool): Promise<LastVerification | undefined> {
  const { rows } = await pool.query<LastVerification>(
    `SELECT at, sound_at AS "soundAt", failures,
       extract(epoch FROM clock_timestamp() - sound_at)::integer AS "soundAgeSeconds"
     FROM ledger.verification`,
  )
  return rows[0]
}

/** Stores the result of a run. @returns the failed checks */
export async function recordVerification(
  pool: Pool,
  { checks }: Verification,
): Promise<readonly string[]> {
  const failures = checks
    .filter(({ bad }) => bad > 0n)
    .map(({ name, bad, example }) => `${name}: ${bad}, first ${example}`)
  await pool.query('SELECT ledger.record_verification($1)', [failures])
  return failures
}
