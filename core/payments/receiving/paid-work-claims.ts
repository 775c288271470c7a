import type { Pool } from 'pg'
import type { ProcessLease } from '../../db/process-lease.ts'
import { type Claim, IS_KEY, keyValues, REFUND_HOURS } from './claim.ts'
import type { PaymentKey } from './payment.ts'

/** Claims of the work that payments pay for, so that one request at a time does it. */
export class PaidWorkClaims {
  readonly #pool: Pool
  readonly #lease: ProcessLease

  constructor(pool: Pool, lease: ProcessLease) {
    this.#pool = pool
    this.#lease = lease
  }

  /** Starts the work of a payment for a call. False if it is done or another request has it. */
  async start(key: PaymentKey, call: string, seconds: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET working_until = now() + make_interval(secs => $5), call = $6,
         process = $7
       WHERE ${IS_KEY} AND delivered_at IS NULL AND NOT deposited
         AND (working_until IS NULL OR working_until < now() OR hub.is_gone(process, $7))`,
      [...keyValues(key), seconds, call, this.#lease.id],
    )
    return rowCount === 1
  }

  /**
   * Keeps a payment for a call of this process whose settlement has not begun. False if another
   * process has taken it over.
   */
  async keep({ id }: Claim, call: string, seconds: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET working_until = now() + make_interval(secs => $3)
       WHERE id = $1 AND call = $2 AND process = $4 AND state = 'claimed' AND NOT settling`,
      [id, call, seconds, this.#lease.id],
    )
    return rowCount === 1
  }

  /**
   * Ends the work of a payment for a call of this process as delivered; later if the database is
   * unreachable, which is not known to be longer than the lease.
   * @returns false if the payment pays for another call now
   */
  async finish(key: PaymentKey, call: string): Promise<boolean> {
    const finish = () =>
      this.#pool.query(
        `UPDATE hub.payment_claim
         SET working_until = NULL, delivered_at = coalesce(delivered_at, now())
         WHERE ${IS_KEY} AND call = $5 AND process = $6`,
        [...keyValues(key), call, this.#lease.id],
      )
    try {
      // Waits for a takeover that has locked the claim.
      return (await finish()).rowCount === 1
    } catch {
      await this.#lease.release(finish)
      return true // nobody takes a payment over while the database is unreachable
    }
  }

  /**
   * Ends the work of a payment whose response its payer cannot get: it pays for no other attempt,
   * and is refunded when a payment without a delivery is.
   */
  withhold(key: PaymentKey, call: string): Promise<void> {
    return this.#lease.release(() =>
      this.#pool.query(
        `UPDATE hub.payment_claim SET process = NULL,
           working_until = claimed_at + make_interval(hours => ${REFUND_HOURS})
         WHERE ${IS_KEY} AND call = $5 AND process = $6 AND delivered_at IS NULL`,
        [...keyValues(key), call, this.#lease.id],
      ),
    )
  }

  async isWithheld(key: PaymentKey): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `SELECT FROM hub.payment_claim
       WHERE ${IS_KEY} AND process IS NULL AND working_until > now() AND delivered_at IS NULL`,
      keyValues(key),
    )
    return rowCount === 1
  }

  /** Ends the work of a payment without a delivery: the same payment may pay for another try. */
  abandon(key: PaymentKey, call: string): Promise<void> {
    return this.#lease.release(() =>
      this.#pool.query(
        `UPDATE hub.payment_claim SET working_until = NULL
         WHERE ${IS_KEY} AND call = $5 AND process = $6 AND delivered_at IS NULL`,
        [...keyValues(key), call, this.#lease.id],
      ),
    )
  }
}
