import type { Pool } from 'pg'
import type { Purpose } from '../secret-keys/purposes.ts'
import { countDependents } from './dependents.ts'

/** A version as operators see it. */
export interface VersionInfo {
  readonly purpose: Purpose
  readonly version: number
  readonly keyId: string
  readonly state: 'pending' | 'current' | 'previous' | 'retired'
  readonly createdAt: Date
  readonly activeFrom: Date
  readonly retiredAt: Date | null
  /** Key of `HUB_SIGNING_KEY` that encrypts it. */
  readonly wrappedBy: string
  /** Number of things that depend on it; undefined if that is not counted or it is retired. */
  readonly dependents: bigint | undefined
}

/** Lists all versions, also retired ones. */
export async function listVersions(pool: Pool): Promise<readonly VersionInfo[]> {
  const { rows } = await pool.query<Omit<VersionInfo, 'dependents'>>(
    `SELECT purpose, version, key_id AS "keyId", created_at AS "createdAt",
       active_from AS "activeFrom", retired_at AS "retiredAt", wrapped_by AS "wrappedBy",
       CASE WHEN wrapped IS NULL THEN 'retired'
         WHEN active_from > clock_timestamp() THEN 'pending'
         WHEN version = max(version) FILTER (WHERE wrapped IS NOT NULL
           AND active_from <= clock_timestamp()) OVER (PARTITION BY purpose) THEN 'current'
         ELSE 'previous' END AS state
     FROM hub.key_version ORDER BY purpose, version`,
  )
  return Promise.all(
    rows.map(async (row) => {
      if (row.state === 'retired') return { ...row, dependents: undefined }
      const { count, advice } = await countDependents(pool, row.purpose, row)
      return { ...row, dependents: advice === undefined ? undefined : count }
    }),
  )
}
