import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import { issueSecret, type NewKey } from './secret.ts'

/** Maximum per principal, including revoked keys. */
const PROVIDER_KEYS_MAX = 100

export interface ProviderKeyOptions {
  /** Owner of the services that the key manages. */
  readonly principal: string
  /** Main key that creates it and may revoke it; null: created by a signed-in person. */
  readonly parent: string | null
  readonly name: string | null
  readonly expiresAt: Date | null
}

/**
 * Creates a key that manages its principal's services. It has no credits and cannot spend.
 * @throws Fault `key_limit_reached` if the principal has too many
 */
export async function createProviderKey(pool: Pool, order: ProviderKeyOptions): Promise<NewKey> {
  const { principal, parent, name, expiresAt } = order
  const keyId = prefixedId('key')
  return inTransaction(pool, async (client) => {
    // Locked, so that concurrent inserts cannot exceed PROVIDER_KEYS_MAX.
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`provider keys:${principal}`])
    const { rowCount } = await client.query(
      `INSERT INTO hub.api_key (id, principal, parent, depth, role, name, expires_at)
       SELECT $1, $2, $3, CASE WHEN $3::text IS NULL THEN 0 ELSE 1 END, 'provider', $4, $5
       WHERE (SELECT count(*) FROM hub.api_key WHERE principal = $2 AND role = 'provider') < $6`,
      [keyId, principal, parent, name, expiresAt, PROVIDER_KEYS_MAX],
    )
    if (rowCount !== 1) {
      const detail = `A wallet or account can have at most ${PROVIDER_KEYS_MAX} provider keys.`
      throw new Fault('key_limit_reached', detail, {
        extras: { scope: 'provider_keys' },
        advice: 'Use a provider key that exists: GET /v1/keys.',
      })
    }
    return issueSecret(client, keyId)
  })
}
