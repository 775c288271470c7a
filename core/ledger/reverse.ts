import type { ClientBase, Pool } from 'pg'
import type { Micros } from '../money.ts'
import type { Account, Outcome } from './events.ts'
import type { Books } from './in-transaction.ts'
import type { HoldRef } from './ledger.ts'

/** Who decided something about money, and why. Both are booked with it. */
export interface Decision {
  readonly author: string
  readonly reason: string
}

/** Other entries may take from the payee between the look and the entry. */
const TRIES = 3

/**
 * Refunds a settled call, as after a dispute: in full, or a part of it, and once. The platform
 * gives back its part of the commission, the payee the rest; what the payee no longer has, since it
 * was paid out, it owes from then on.
 * @param refunded left out: all that was charged
 * @returns `applied`, `replayed`, `no_such_hold` for a call that was not charged, `above_hold` for
 *   more than was charged, `id_reused_with_other_terms` after another refund of the call
 */
export async function reverseCall(
  pool: Pool | ClientBase,
  ledger: Books,
  hold: HoldRef,
  { author, reason }: Decision,
  refunded?: Micros,
): Promise<Outcome> {
  const entry = { owner: hold.owner, id: hold.call, meta: { author, reason } }
  let outcome: Outcome = 'no_such_hold'
  for (let tries = 0; tries < TRIES; tries++) {
    const settled = await settlementOf(pool, hold)
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
  /** What the payee has on the shard of the call; null: it may owe. */
  readonly available: bigint | null
  /** What was refunded already. */
  readonly reversed: bigint | null
}

async function settlementOf(
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
