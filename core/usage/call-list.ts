import type { Pool } from 'pg'
import { MANAGED_KEYS } from '../identity/sub-keys.ts'
import type { CallRecord } from './call-records.ts'

/** Filter and page of a list of calls. */
export interface CallListQuery {
  readonly limit: number
  /** Cursor of the last row of the previous page. */
  readonly after?: CallPosition | undefined
  /** True for charged calls alone. */
  readonly isCharged: boolean
}

export type CallPosition = readonly [at: string, id: string]

export interface CallListRow extends Pick<CallRecord, 'id' | 'at' | 'source' | 'charged'> {
  readonly endpoint: string
  readonly status: number
}

/** Lists recorded calls of a key and its sub-keys, however they were paid, newest first. */
export async function listCalls(
  pool: Pool,
  keyId: string,
  { limit, after: [at, id] = [] as unknown as CallPosition, isCharged }: CallListQuery,
): Promise<CallListRow[]> {
  const { rows } = await pool.query<CallListRow>(
    `${MANAGED_KEYS} SELECT c.id, c.at, c.source, c.charged, c.status,
       coalesce(e.service || ' ' || e.method || ' ' || e.path, c.service) AS endpoint
     FROM hub.call c JOIN family f ON f.id = c.key_id LEFT JOIN hub.endpoint e ON e.id = c.endpoint
     WHERE (c.charged > 0 OR NOT $2)
       AND ($3::timestamptz IS NULL OR (c.at, c.id) < ($3, $4::uuid))
     ORDER BY c.at DESC, c.id DESC LIMIT $5`,
    [[keyId], isCharged, at ?? null, id ?? null, limit],
  )
  return rows
}
