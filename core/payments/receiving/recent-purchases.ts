import type { Pool } from 'pg'
import type { Account } from '../../ledger/events.ts'
import type { Claim } from './claim.ts'

/** Payment for credits that is pending or was credited. */
export type RecentPurchase = Pick<
  Claim,
  'id' | 'amount' | 'state' | 'transaction' | 'claimedAt'
> & {
  /** Wallet that pays. */
  readonly payer: string
}

const MAX_ROWS = 5

/** Lists the payments of the last day for credits of a key, pending ones first. */
export async function listRecentPurchases(
  pool: Pool,
  payee: Account,
): Promise<readonly RecentPurchase[]> {
  const { rows } = await pool.query<RecentPurchase>(
    `SELECT id, amount, state, transaction, payer, claimed_at AS "claimedAt"
     FROM hub.payment_claim
     WHERE payee = $1 AND purpose = 'credits' AND claimed_at > now() - interval '1 day'
       AND state IN ('claimed', 'pending', 'settled', 'confirmed')
     ORDER BY state IN ('settled', 'confirmed'), claimed_at DESC LIMIT $2`,
    [payee, MAX_ROWS],
  )
  return rows
}
