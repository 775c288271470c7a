import type { ClientBase, Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import { inTransaction } from '../../db/transaction.ts'
import { uuidv7 } from '../../ids.ts'
import { isPosted } from '../../ledger/idempotency.ts'
import {
  attemptIds,
  CLAIM_COLUMNS,
  type Claim,
  type ClaimRow,
  IS_KEY,
  isClosed,
  isSameKey,
  keyValues,
  type Purchase,
  SELECT_CLAIM,
  toClaim,
} from './claim.ts'
import type { PaymentKey } from './payment.ts'

/** A claim; `isNew` is true if this request made it. */
interface ClaimResult {
  readonly isNew: boolean
  readonly claim: Claim
}

/** Store of received payments: each is claimed before verification, so that it is served once. */
export class Claims {
  readonly #pool: Pool
  readonly #clock: Clock

  constructor(pool: Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  async find(key: PaymentKey): Promise<Claim | undefined> {
    const { rows } = await this.#pool.query<ClaimRow>(
      `${SELECT_CLAIM} WHERE ${IS_KEY}`,
      keyValues(key),
    )
    return rows[0] && toClaim(rows[0])
  }

  /** Finds the received payment of a call whose work is not known to be done. */
  async findPaidCall(call: string): Promise<Claim | undefined> {
    const { rows } = await this.#pool.query<ClaimRow>(
      `${SELECT_CLAIM} WHERE call = $1 AND state IN ('settled', 'confirmed')
         AND delivered_at IS NULL AND NOT deposited LIMIT 1`,
      [call],
    )
    return rows[0] && toClaim(rows[0])
  }

  /** Claims a payment, or returns its existing claim. */
  async claim(key: PaymentKey, purchase: Purchase): Promise<ClaimResult> {
    for (let tries = 0; tries < CLAIM_ATTEMPTS_MAX; tries++) {
      const claimed = await (purchase.id === undefined
        ? this.#insert(this.#pool, key, purchase)
        : this.#claimNamed(key, purchase, purchase.id))
      if (claimed) return claimed
      const claim = await this.find(key)
      if (claim) return { isNew: false, claim }
      // Another request released it in between, because the payment was invalid then.
    }
    throw new Error('a claim was released each time it was read')
  }

  /** Finds the payment of a named purchase: an open or successful one, else any. */
  async findPurchase(name: string): Promise<Claim | undefined> {
    const all = await this.#findAttempts(this.#pool, name)
    return all.find((claim) => !isClosed(claim)) ?? all[0]
  }

  /** Finds all payments of a named purchase. */
  async #findAttempts(on: Pool | ClientBase, name: string): Promise<readonly Claim[]> {
    const { rows } = await on.query<ClaimRow>(`${SELECT_CLAIM} WHERE id = ANY ($1)`, [
      attemptIds(name),
    ])
    return rows.map(toClaim)
  }

  /**
   * Claims a payment of a named purchase. Each payment has its same id, because an earlier one may
   * still be settled; all ids derive from the name, so the paid one is found again. Undefined if
   * the payment is already claimed.
   */
  #claimNamed(key: PaymentKey, purchase: Purchase, name: string): Promise<ClaimResult | undefined> {
    return inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 8407))', [name])
      const all = await this.#findAttempts(client, name)
      const open = all.find((claim) => !isClosed(claim))
      if (open) return { isNew: false, claim: open }
      const same = all.find((claim) => isSameKey(claim.key, key))
      const free = attemptIds(name).find((id) => all.every((claim) => claim.id !== id))
      if (!same && free === undefined) throw new Error(`purchase ${name} has failed too often`)
      return this.#insert(client, key, { ...purchase, id: same?.id ?? free })
    })
  }

  /** Returns undefined if the payment is already claimed. */
  async #insert(
    on: Pool | ClientBase,
    key: PaymentKey,
    purchase: Purchase,
  ): Promise<ClaimResult | undefined> {
    const { rows } = await on.query<ClaimRow>(
      `INSERT INTO hub.payment_claim AS c (network, asset, payer, nonce, id, purpose, request_hash,
         amount, payee, commission_bps, valid_before, upfront, client, pay_to, call)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
       ON CONFLICT (network, asset, payer, nonce) DO UPDATE SET id = excluded.id,
         purpose = excluded.purpose, request_hash = excluded.request_hash,
         amount = excluded.amount, payee = excluded.payee, client = excluded.client,
         commission_bps = excluded.commission_bps, upfront = excluded.upfront,
         pay_to = excluded.pay_to, call = excluded.call, state = 'claimed',
         claimed_at = now(), changed_at = now()
         WHERE c.state = 'released'
       RETURNING ${CLAIM_COLUMNS}`,
      [
        ...keyValues(key),
        purchase.id ?? uuidv7(this.#clock.now().getTime()),
        purchase.purpose,
        purchase.requestHash,
        purchase.amount,
        purchase.payee,
        purchase.commissionBps,
        purchase.validBefore,
        purchase.upfront ?? false,
        purchase.client ?? null,
        purchase.payTo.toLowerCase(),
        purchase.call ?? null,
      ],
    )
    return rows[0] && { isNew: true, claim: toClaim(rows[0]) }
  }

  /**
   * Takes claims whose outcome or finality is unknown, least recently checked first, so that
   * unresolvable ones do not block others. Failed claims are watched until their authorization
   * expires, because anyone who has it may still settle it.
   */
  async takeUnfinished(olderThanSeconds: number, limit: number): Promise<readonly Claim[]> {
    const { rows } = await this.#pool.query<ClaimRow>(
      `UPDATE hub.payment_claim SET changed_at = now() WHERE id IN (
         SELECT id FROM hub.payment_claim
         WHERE state IN ('claimed', 'pending', 'settled', 'failed', 'released')
           AND (state NOT IN ('failed', 'released')
             OR changed_at < valid_before + interval '1 minute')
           AND changed_at < now() - make_interval(secs => $1)
         ORDER BY state IN ('settled', 'failed', 'released'), changed_at
         LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING ${CLAIM_COLUMNS}`,
      [olderThanSeconds, limit],
    )
    return rows.map(toClaim)
  }

  /** Deletes the claim of an invalid payment that nobody can settle. */
  async forget(key: PaymentKey): Promise<void> {
    await this.#pool.query(
      `DELETE FROM hub.payment_claim WHERE ${IS_KEY} AND state = 'claimed'`,
      keyValues(key),
    )
  }

  /** Releases a claim without delivery. It is watched, because others have seen the payment. */
  async release(key: PaymentKey): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.payment_claim SET state = 'released', changed_at = now()
       WHERE ${IS_KEY} AND state = 'claimed'`,
      keyValues(key),
    )
  }

  /** Reopens a released claim whose payment arrived. False if it was claimed again meanwhile. */
  async reopen({ id }: Claim, isDeposit: boolean): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET state = 'pending', deposited = $2
       WHERE id = $1 AND state = 'released'`,
      [id, isDeposit],
    )
    return rowCount === 1
  }

  /** Returns true if the payer has paid for the same request by another payment. */
  async wasPaidAgain({ id, key, requestHash }: Claim): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `SELECT FROM hub.payment_claim WHERE network = $1 AND asset = $2 AND payer = $3
         AND request_hash = $4 AND id <> $5 AND state IN ('settled', 'confirmed')
         AND claimed_at >= (SELECT claimed_at FROM hub.payment_claim WHERE id = $5) LIMIT 1`,
      [key.network, key.asset, key.payer, requestHash, id],
    )
    return rowCount === 1
  }

  /** Returns true if the work was done. */
  async wasServed({ id, deliveredAt }: Claim): Promise<boolean> {
    if (deliveredAt) return true
    const { rowCount } = await this.#pool.query('SELECT FROM hub.kept_answer WHERE id = $1', [id])
    return rowCount === 1
  }

  /** Starts the work of a payment for a call. False if it is done or another request has it. */
  async startWork(key: PaymentKey, call: string, seconds: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET working_until = now() + make_interval(secs => $5), call = $6
       WHERE ${IS_KEY} AND delivered_at IS NULL AND NOT deposited
         AND (working_until IS NULL OR working_until < now())`,
      [...keyValues(key), seconds, call],
    )
    return rowCount === 1
  }

  /** Ends that work. Failed work may be retried with the same payment. */
  async finishWork(key: PaymentKey, delivered: boolean): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.payment_claim SET working_until = NULL,
         delivered_at = CASE WHEN $5 THEN now() END WHERE ${IS_KEY} AND delivered_at IS NULL`,
      [...keyValues(key), delivered],
    )
  }

  /**
   * Returns true if a payer must pay upfront, because an earlier payment failed after the work.
   * @param unprovenAmount also true unless the payer has paid this amount at once before
   */
  async mustPayUpfront(
    { network, asset, payer }: PaymentKey,
    unprovenAmount?: bigint,
  ): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `SELECT FROM hub.distrusted_payer WHERE payer = $1 AND until > now()
       UNION ALL
       SELECT WHERE $2::bigint IS NOT NULL AND NOT EXISTS (SELECT FROM hub.payment_claim
         WHERE network = $3 AND asset = $4 AND payer = $1 AND amount >= $2
           AND state IN ('settled', 'confirmed'))`,
      [payer, unprovenAmount ?? null, network, asset],
    )
    return rowCount !== 0
  }

  /**
   * Makes a claimed payment an upfront one if it and the other unsettled payments of its payer
   * exceed what the payer has paid at once before. Returns true if so.
   */
  async requireUpfrontBeyondTrust(key: PaymentKey): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET upfront = true WHERE ${IS_KEY} AND NOT EXISTS (
         SELECT FROM hub.payment_claim WHERE payer = $3 AND state IN ('settled', 'confirmed')
           AND amount >= (SELECT sum(amount) FROM hub.payment_claim
             WHERE payer = $3 AND state = 'claimed' AND NOT upfront))`,
      keyValues(key),
    )
    return rowCount === 1
  }

  /** Requires upfront payment from a payer whose payment failed after the work was done. */
  async distrust(payer: string, reason: string): Promise<void> {
    await this.#pool.query(
      `INSERT INTO hub.distrusted_payer VALUES ($1, now() + make_interval(days => $2), $3)
       ON CONFLICT (payer) DO UPDATE SET until = excluded.until, reason = excluded.reason`,
      [payer.toLowerCase(), DISTRUST_DAYS, reason],
    )
  }

  /** Returns true if the journal has the payment, whatever state the claim has. */
  isPosted({ id, payee }: Claim): Promise<boolean> {
    return isPosted(this.#pool, payee, id)
  }

  /** Stores the outcome of a payment. Final states do not change, except `failed`. */
  async conclude(
    key: PaymentKey,
    state: 'settled' | 'confirmed' | 'pending' | 'failed',
    transaction?: string,
    served = false,
  ): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.payment_claim
       SET state = $5, transaction = coalesce($6, transaction), changed_at = now(),
         delivered_at = CASE WHEN $7 THEN now() ELSE delivered_at END
       WHERE ${IS_KEY} AND (state IN ('claimed', 'pending', 'settled')
         OR state IN ('failed', 'released') AND $5 = 'confirmed')`,
      [...keyValues(key), state, transaction ?? null, served],
    )
  }
}

/** Period in which a payer who did not pay for delivered work must pay upfront. */
const DISTRUST_DAYS = 30
const CLAIM_ATTEMPTS_MAX = 20
