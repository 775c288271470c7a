import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { ADD_SECRET, generateKey, hashOf, type NewSecret, prefixOf } from './secret.ts'

/** Of one principal, the revoked ones included. */
const KEYS_MAX = 100

export interface ProviderKeyOrder {
  /** Whose sales it manages. */
  readonly principal: string
  /** The root that makes it, and may revoke it; null: somebody who is signed in. */
  readonly parent: string | null
  readonly name: string | null
  readonly expiresAt: Date | null
}

/**
 * Makes a key that manages what its principal sells. It has no credits and spends nothing.
 * @throws Fault `key_limit_reached` when there are too many
 */
export async function makeProviderKey(pool: Pool, order: ProviderKeyOrder): Promise<NewSecret> {
  const { principal, parent, name, expiresAt } = order
  const keyId = prefixedId('key')
  const apiKey = generateKey()
  await inTransaction(pool, async (client) => {
    // Locked: two at once must not both be the hundredth.
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`provider keys:${principal}`])
    const { rowCount } = await client.query(
      `INSERT INTO hub.api_key (id, principal, parent, depth, role, name, expires_at)
       SELECT $1, $2, $3, CASE WHEN $3::text IS NULL THEN 0 ELSE 1 END, 'provider', $4, $5
       WHERE (SELECT count(*) FROM hub.api_key WHERE principal = $2 AND role = 'provider') < $6`,
      [keyId, principal, parent, name, expiresAt, KEYS_MAX],
    )
    if (rowCount !== 1) {
      const detail = `A wallet or account has ${KEYS_MAX} keys of providers at most.`
      throw new Fault('key_limit_reached', detail, { extras: { scope: 'provider_keys' } })
    }
    await client.query(ADD_SECRET, [hashOf(apiKey), keyId, prefixOf(apiKey)])
  })
  return { keyId, apiKey }
}
