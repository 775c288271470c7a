import type { Pool } from 'pg'
import { IS_KEY, keyValues } from './claim.ts'
import type { PaymentKey } from './payment.ts'

/** Period in which a payer who did not pay for delivered work must pay upfront. */
const DISTRUST_DAYS = 30

/**
 * SQL for payments that show what a payer has spent at once: not those for credits or deposits,
 * which its keys still have. As in hub.start_on_trust.
 */
const PROVES_TRUST = `purpose = 'call' AND NOT deposited AND state IN ('settled', 'confirmed')`

/** Store of the payers who must pay upfront. */
export class PayerTrust {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * Returns true if a payer must pay upfront, because an earlier payment failed after the work.
   * @param unprovenAmount also true unless the payer has paid this amount at once before
   */
  async mustPayUpfront(
    { network, asset, payer }: PaymentKey,
    unprovenAmount?: bigint,
  ): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
      name: 'payer-trust.must-pay-upfront',
      text: `SELECT FROM hub.distrusted_payer WHERE payer = $1 AND until > now()
       UNION ALL
       SELECT WHERE $2::bigint IS NOT NULL AND NOT EXISTS (SELECT FROM hub.payment_claim
         WHERE network = $3 AND asset = $4 AND payer = $1 AND amount >= $2
           AND ${PROVES_TRUST})`,
      values: [payer, unprovenAmount ?? null, network, asset],
    })
    return rowCount !== 0
  }

  /**
   * Makes a claimed payment an upfront one if it and the other unsettled payments of its payer
   * exceed what the payer has paid at once before. Returns true if so.
   */
  async requireUpfrontBeyondTrust(key: PaymentKey): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET upfront = true WHERE ${IS_KEY} AND NOT EXISTS (
         SELECT FROM hub.payment_claim WHERE payer = $3 AND ${PROVES_TRUST}
           AND amount >= (SELECT sum(amount) FROM hub.payment_claim
             WHERE payer = $3 AND state = 'claimed' AND NOT upfront))`,
      keyValues(key),
    )
    return rowCount === 1
  }

  /**
   * Begins work that is paid by its usage. What its payer owes for such work and this may together
   * come to at most `unproven`, or to what the payer has paid at once before. Concurrent calls wait
   * for each other here. Returns false if it exceeds that.
   * @param claim id of the verified payment
   */
  async startOnTrust(claim: string, unproven: bigint): Promise<boolean> {
    const { rows } = await this.#pool.query<{ readonly started: boolean }>(
      'SELECT hub.start_on_trust($1, $2) AS started',
      [claim, unproven],
    )
    return rows[0]!.started
  }

  /** Requires upfront payment from a payer whose payment failed after the work was done. */
  async distrust(payer: string, reason: string): Promise<void> {
    await this.#pool.query(
      `INSERT INTO hub.distrusted_payer VALUES ($1, now() + make_interval(days => $2), $3)
       ON CONFLICT (payer) DO UPDATE SET until = excluded.until, reason = excluded.reason`,
      [payer.toLowerCase(), DISTRUST_DAYS, reason],
    )
  }
}
