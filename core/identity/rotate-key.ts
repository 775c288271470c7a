import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { issueSecret, type NewKey } from './secret.ts'
import { IS_MANAGED, type KeyManager, keyNotFound } from './sub-keys.ts'

/** New secrets of a key per day, so that few are valid at a time. */
const ROTATIONS_MAX = 100

/**
 * Rotates the secret of a key. Old secrets work for another `overlapSeconds`. Id, credits, limits
 * and history stay the same.
 * @throws Fault `not_found` if `manager` does not manage the key, or it is revoked;
 *   `key_limit_reached` after too many rotations
 */
export async function rotateKey(
  pool: Pool,
  manager: KeyManager,
  keyId: string,
  overlapSeconds: number,
): Promise<NewKey> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `SELECT FROM hub.api_key WHERE ${IS_MANAGED} AND revoked_at IS NULL FOR UPDATE`,
      [manager, keyId],
    )
    if (rowCount !== 1) throw keyNotFound()
    const { rows } = await client.query<{ count: bigint }>(
      `SELECT count(*) FROM hub.key_secret
       WHERE key = $1 AND created_at > now() - interval '1 day'`,
      [keyId],
    )
    if (rows[0]!.count >= ROTATIONS_MAX) throw tooManyRotations()
    await client.query(
      `UPDATE hub.key_secret SET expires_at = least(expires_at, now() + make_interval(secs => $2))
       WHERE key = $1 AND (expires_at IS NULL OR expires_at > now())`,
      [keyId, overlapSeconds],
    )
    return issueSecret(client, keyId)
  })
}

const tooManyRotations = (): Fault =>
  new Fault('key_limit_reached', `A key can have ${ROTATIONS_MAX} new secrets per day.`, {
    extras: { scope: 'secrets' },
    advice: 'Rotate it again tomorrow. If its secret has leaked, revoke the key and use another.',
  })
