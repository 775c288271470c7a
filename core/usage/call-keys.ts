import type { Pool } from 'pg'
import { type KeyManager, MANAGED_KEYS } from '../identity/sub-keys.ts'

/** A key, and the account of the credits that it spends. */
export interface CallKey {
  readonly keyId: string
  readonly credits: bigint
}

/**
 * Which key of a manager made a call; or which root paid it, where the record of the call is not
 * written. Undefined: none of them.
 */
export async function findCallKey(
  pool: Pool,
  manager: KeyManager,
  call: string,
): Promise<CallKey | undefined> {
  const { rows } = await pool.query<CallKey>(
    `${MANAGED_KEYS} SELECT f.id AS "keyId", f.credits FROM family f
     WHERE f.credits IS NOT NULL AND (f.id = (SELECT c.key_id FROM hub.call c WHERE c.id = $2)
       OR f.parent IS NULL AND f.credits IN (SELECT o.owner FROM ledger.owners_of($2) o))
     ORDER BY f.id = (SELECT c.key_id FROM hub.call c WHERE c.id = $2) DESC NULLS LAST LIMIT 1`,
    [manager, call],
  )
  return rows[0]
}
