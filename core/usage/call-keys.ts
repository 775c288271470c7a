import type { Pool } from 'pg'
import { FAMILY, type Manager } from '../identity/children.ts'

/** A key, and the account of the credits that it spends. */
export interface KeyOfCall {
  readonly keyId: string
  readonly credits: bigint
}

/**
 * Which key of a manager made a call; or which root paid it, where the record of the call is not
 * written. Undefined: none of them.
 */
export async function keyOfCall(
  pool: Pool,
  manager: Manager,
  call: string,
): Promise<KeyOfCall | undefined> {
  const { rows } = await pool.query<KeyOfCall>(
    `${FAMILY} SELECT f.id AS "keyId", f.credits FROM family f
     WHERE f.credits IS NOT NULL AND (f.id = (SELECT c.key_id FROM hub.call c WHERE c.id = $2)
       OR f.parent IS NULL AND f.credits IN (SELECT o.owner FROM ledger.owners_of($2) o))
     ORDER BY f.id = (SELECT c.key_id FROM hub.call c WHERE c.id = $2) DESC NULLS LAST LIMIT 1`,
    [manager, call],
  )
  return rows[0]
}
