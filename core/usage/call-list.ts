import type { Pool } from 'pg'
import { MANAGED_KEYS } from '../identity/sub-keys.ts'
import type { CallRecord } from './call-records.ts'

/** Filter and page of a list of calls. */
export interface CallListQuery {
  readonly limit: number
  /** Cursor of the last row of the previous page. */
  readonly after?: CallPosition | undefined
  /** Wallet whose calls without a key are listed as well. */
  readonly wallet: string | null
  /** True for charged calls alone. */
  readonly isCharged: boolean
}

export type CallPosition = readonly [at: string, id: string]

export interface CallListRow extends Pick<CallRecord, 'id' | 'at' | 'source' | 'charged'> {
  readonly endpoint: string
  readonly status: number
}

/** Selects the newest calls that fulfil a condition, by an index. */
const newest = (condition: string) => `SELECT k.* FROM hub.call k
  WHERE ${condition} AND (k.charged > 0 OR NOT $2)
    AND ($3::timestamptz IS NULL OR (k.at, k.id) < ($3, $4::uuid))
  ORDER BY k.at DESC, k.id DESC LIMIT $5`

/** Lists recorded calls of a key and its sub-keys, however they were paid, newest first. */
export async function listCalls(
  pool: Pool,
  keyId: string,
  query: CallListQuery,
): Promise<CallListRow[]> {
  const { limit, wallet, isCharged, after: [at = null, id = null] = [] } = query
  const { rows } = await pool.query<CallListRow>(
    `${MANAGED_KEYS} SELECT c.id, c.at, c.source, c.charged, c.status,
       coalesce(e.service || ' ' || e.method || ' ' || e.path, c.service) AS endpoint
     FROM (
       SELECT k.* FROM family f CROSS JOIN LATERAL (${newest('k.key_id = f.id')}) k
       UNION ALL
       (${newest("k.key_id IS NULL AND k.principal = 'x402:' || $6::text")})
     ) c LEFT JOIN hub.endpoint e ON e.id = c.endpoint
     ORDER BY c.at DESC, c.id DESC LIMIT $5`,
    [[keyId], isCharged, at, id, limit, wallet],
  )
  return rows
}
