import type { Pool } from 'pg'
import { readBalances } from '../ledger/account-balances.ts'
import type { KeyManager } from './sub-keys.ts'

/** Key that can make calls. */
export interface UsableKey {
  readonly id: string
  readonly name: string | null
  /** Credits of a main key, in microdollars; null for a sub-key. */
  readonly balance: bigint | null
}

/** Maximum of listed keys. */
const LIST_MAX = 100

/** Lists keys of principals that can make calls, main keys first, then the oldest first. */
export async function listUsableKeys(
  pool: Pool,
  principals: KeyManager,
): Promise<readonly UsableKey[]> {
  const { rows } = await pool.query<{
    readonly id: string
    readonly name: string | null
    readonly credits: bigint | null
    readonly shard: number
  }>(
    `SELECT k.id, k.name, p.shard, CASE WHEN k.parent IS NULL THEN k.credits END AS credits
     FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
     WHERE k.principal = ANY ($1) AND k.role = 'agent' AND k.revoked_at IS NULL
       AND k.frozen_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
     ORDER BY k.parent IS NOT NULL, k.created_at, k.id LIMIT ${LIST_MAX}`,
    [principals],
  )
  const places = rows.flatMap(({ credits, shard }) => (credits === null ? [] : { credits, shard }))
  const balances = await readBalances(pool, places)
  return rows.map(({ id, name, credits }) => ({
    id,
    name,
    balance: credits === null ? null : (balances.get(credits) ?? 0n),
  }))
}
