import type { ClientBase, Pool } from 'pg'
import type { Micros } from '../money.ts'
import type { Account, LedgerOutcome } from './events.ts'
import type { PostingLedger } from './in-transaction.ts'
import type { HoldRef } from './ledger.ts'

/** Author and reason of a manual entry; both are stored with it. */
export interface Decision {
  readonly author: string
  readonly reason: string
}

/** Attempts: the payee's balance may change between reading it and posting. */
const TRIES_MAX = 3

/**
 * Refunds a settled call once, in full or in part, as after a dispute. The platform refunds its
 * share of the commission, the payee the rest. The part that the payee was already paid out becomes
 * a receivable.
 * @param refunded @defaultValue the amount charged
 * @returns `applied`, `replayed`, `no_such_hold` if the call was not charged, `above_hold` if it
 *   was charged less, `id_reused_with_other_terms` after a different refund of the call
 */
export async function reverseCall(
  pool: Pool | ClientBase,
  ledger: PostingLedger,
  hold: HoldRef,
  { author, reason }: Decision,
  refunded?: Micros,
): Promise<LedgerOutcome> {
  const entry = { owner: hold.owner, id: hold.call, meta: { author, reason } }
  let outcome: LedgerOutcome = 'no_such_hold'
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const settled = await findSettlement(pool, hold)
    if (!settled || settled.charged === 0n) return 'no_such_hold'
    const { charged, available, payee } = settled
    const amount = refunded ?? charged
    if (amount > charged) return 'above_hold'
    if (settled.reversed !== null) {
      return settled.reversed === amount ? 'replayed' : 'id_reused_with_other_terms'
    }
    const commission = ((settled.commission * amount) / charged) as Micros
    const share = amount - commission
    const short = available !== null && available < share ? share - available : 0n
    const parts = { refunded: amount, commission, receivable: short as Micros }
    const credits = hold.owner.code
    outcome = await ledger.post({ type: 'call.reversed', credits, payee, ...parts }, entry)
    if (outcome !== 'insufficient_funds' && outcome !== 'id_reused_with_other_terms') break
  }
  return outcome
}

interface Settlement {
  readonly charged: Micros
  readonly commission: bigint
  readonly payee: Account
  /** Available balance of the payee on the shard of the call; null if it may be overdrawn. */
  readonly available: bigint | null
  /** Amount already refunded; null if none. */
  readonly reversed: bigint | null
}

async function findSettlement(
  pool: Pool | ClientBase,
  { owner, call }: HoldRef,
): Promise<Settlement | undefined> {
  const { rows } = await pool.query<Settlement>(
    `SELECT s.amount AS charged, s.fee AS commission, a.code AS payee,
      b.balance - b.floor AS available,
       (SELECT sum(u.amount)::bigint FROM ledger.journal r, unnest(r.amounts) u(amount)
        WHERE r.owner = s.owner AND r.id = s.id AND r.phase = 3 AND u.amount > 0) AS reversed
     FROM ledger.journal s
     JOIN ledger.account a ON a.id = s.payee
     JOIN ledger.balance b ON b.account = s.payee AND b.shard = s.shard
     WHERE s.owner = $1 AND s.id = $2 AND s.phase = 2 AND s.kind = 2`,
    [owner.id, call],
  )
  return rows[0]
}
