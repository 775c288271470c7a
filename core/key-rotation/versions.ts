import type { Pool } from 'pg'
import type { SealingKeys } from '../crypto/sealing.ts'
import type { Purpose } from '../secret-keys/purposes.ts'
import { wrappingPurpose } from '../secret-keys/secret-keys.ts'
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
  /** False if `HUB_SIGNING_KEY` does not decrypt it; undefined if it is retired. */
  readonly isReadable: boolean | undefined
  /** Number of things that depend on it; undefined if that is not counted or it is retired. */
  readonly dependents: bigint | undefined
}

type VersionRow = Omit<VersionInfo, 'dependents' | 'isReadable'> & {
  /** Null if it is retired. */
  readonly wrapped: Buffer | null
}

/** Lists all versions, also retired ones. @param wrapping keys of `HUB_SIGNING_KEY` */
export async function listVersions(
  pool: Pool,
  wrapping: SealingKeys,
): Promise<readonly VersionInfo[]> {
  const { rows } = await pool.query<VersionRow>(
    `SELECT purpose, version, key_id AS "keyId", created_at AS "createdAt",
       active_from AS "activeFrom", retired_at AS "retiredAt", wrapped_by AS "wrappedBy", wrapped,
       CASE WHEN wrapped IS NULL THEN 'retired'
         WHEN active_from > clock_timestamp() THEN 'pending'
         WHEN version = max(version) FILTER (WHERE wrapped IS NOT NULL
           AND active_from <= clock_timestamp()) OVER (PARTITION BY purpose) THEN 'current'
         ELSE 'previous' END AS state
     FROM hub.key_version ORDER BY purpose, version`,
  )
  return Promise.all(
    rows.map(async ({ wrapped, ...row }) => {
      if (wrapped === null) return { ...row, isReadable: undefined, dependents: undefined }
      const { count, advice } = await countDependents(pool, row.purpose, row)
      const isReadable = canOpen(wrapping, row, wrapped)
      return { ...row, isReadable, dependents: advice === undefined ? undefined : count }
    }),
  )
}

function canOpen(
  wrapping: SealingKeys,
  { purpose, version, wrappedBy }: Pick<VersionInfo, 'purpose' | 'version' | 'wrappedBy'>,
  wrapped: Buffer,
): boolean {
  try {
    wrapping.open(wrappingPurpose(purpose, version), wrappedBy, wrapped)
    return true
  } catch {
    return false
  }
}
