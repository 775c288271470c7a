import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { type Micros, usd } from '../../money.ts'
import type { Claim } from './claim.ts'

/** Most that credits may be, on one network, whose payments are in a block but not final. */
export const EARLY_CREDITS_MAX: Micros = usd('1000')

/** Admits purchases of credits that can be spent before their payments are final. */
export class EarlyCredits {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * Notes that a payment in a block is credited now, unless it and the others that are not final
   * exceed the maximum. Concurrent purchases on a network wait for each other.
   * @param transaction hash of the transfer
   * @returns false if it is credited once it is final
   */
  grant({ id, key }: Claim, transaction: string | undefined): Promise<boolean> {
    return inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 8411))', [key.network])
      const { rowCount } = await client.query(
        `UPDATE hub.payment_claim SET transaction = coalesce($2, transaction), changed_at = now(),
           state = CASE state WHEN 'confirmed' THEN state ELSE 'settled' END
         WHERE id = $1 AND (state IN ('settled', 'confirmed')
           OR state IN ('claimed', 'pending')
             AND amount + (SELECT coalesce(sum(amount), 0) FROM hub.payment_claim
               WHERE network = $3 AND purpose = 'credits' AND state = 'settled') <= $4)`,
        [id, transaction ?? null, key.network, EARLY_CREDITS_MAX],
      )
      return rowCount === 1
    })
  }
}
