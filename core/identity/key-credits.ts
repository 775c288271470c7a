import type { Pool } from 'pg'
import type { Account } from '../ledger/events.ts'
import type { AccountRef } from '../ledger/ledger.ts'

/** A key, and the credits that it spends: those of its root. */
export interface KeyCredits {
  readonly keyId: string
  readonly credits: AccountRef
}

/** Of a key that may be used, known by its id alone; undefined when there is none. */
export async function findKeyCredits(pool: Pool, keyId: string): Promise<KeyCredits | undefined> {
  const { rows } = await pool.query<{ credits: bigint; code: Account; shard: number }>(
    `SELECT k.credits, a.code, p.shard FROM hub.api_key k
       JOIN hub.principal p ON p.id = k.principal JOIN ledger.account a ON a.id = k.credits
     WHERE k.id = $1 AND k.revoked_at IS NULL AND k.frozen_at IS NULL
       AND (k.expires_at IS NULL OR k.expires_at > now())`,
    [keyId],
  )
  const [row] = rows
  if (!row) return undefined
  return { keyId, credits: { id: row.credits, code: row.code, asset: 'USDC', shard: row.shard } }
}
