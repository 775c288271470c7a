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
  isClosed,
  isSameKey,
  keyValues,
  MATCHES_KEY,
  type Purchase,
  SELECT_CLAIM,
  toClaim,
} from './claim.ts'
import type { PaymentKey } from './payment.ts'

/** A claim, and whether it was made just now. */
interface ClaimResult {
  readonly isNew: boolean
  readonly claim: Claim
}

/**
 * Payments to the hub, each claimed before it is verified. Verification reserves nothing, so
 * without the claim one payment sent eight times at once would be served eight times.
 */
export class Claims {
  readonly #pool: Pool
  readonly #clock: Clock

  constructor(pool: Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  async find(key: PaymentKey): Promise<Claim | undefined> {
    const { rows } = await this.#pool.query<ClaimRow>(
      `${SELECT_CLAIM} WHERE ${MATCHES_KEY}`,
      keyValues(key),
    )
    return rows[0] && toClaim(rows[0])
  }

  /** A payment that has come for a call, whose work is not known to be done. */
  async findPaidCall(call: string): Promise<Claim | undefined> {
    const { rows } = await this.#pool.query<ClaimRow>(
      `${SELECT_CLAIM} WHERE call = $1 AND state IN ('settled', 'confirmed') AND delivered_at IS NULL
       LIMIT 1`,
      [call],
    )
    return rows[0] && toClaim(rows[0])
  }

  /** Claims a payment, or gives the claim that was there before. */
  async claim(key: PaymentKey, what: Purchase): Promise<ClaimResult> {
    for (let tries = 0; tries < CLAIM_ATTEMPTS_MAX; tries++) {
      const claimed = await (what.id === undefined
        ? this.#insert(this.#pool, key, what)
        : this.#insertNamed(key, what, what.id))
      if (claimed) return claimed
      const claim = await this.find(key)
      if (claim) return { isNew: false, claim }
      // Somebody else gave it up in between, since the payment was not valid then.
    }
    throw new Error('a claim was given up each time that it was read')
  }

  /** The payment that a purchase of this name has: one that may come, or did, if there is one. */
  async findPurchase(name: string): Promise<Claim | undefined> {
    const all = await this.#findAttempts(this.#pool, name)
    return all.find((claim) => !isClosed(claim)) ?? all[0]
  }

  /** All payments that a purchase of this name has had. */
  async #findAttempts(on: Pool | ClientBase, name: string): Promise<readonly Claim[]> {
    const { rows } = await on.query<ClaimRow>(`${SELECT_CLAIM} WHERE id = ANY ($1)`, [
      attemptIds(name),
    ])
    return rows.map(toClaim)
  }

  /**
   * Each payment has an id of its own, since an earlier one may still come; all follow from the
   * name, so that the one that has paid is found again. Undefined: the payment is claimed.
   */
  #insertNamed(key: PaymentKey, what: Purchase, name: string): Promise<ClaimResult | undefined> {
    return inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 8407))', [name])
      const all = await this.#findAttempts(client, name)
      const living = all.find((claim) => !isClosed(claim))
      if (living) return { isNew: false, claim: living }
      const own = all.find((claim) => isSameKey(claim.key, key))
      const free = attemptIds(name).find((id) => all.every((claim) => claim.id !== id))
      if (!own && free === undefined) throw new Error(`purchase ${name} has failed too often`)
      return this.#insert(client, key, { ...what, id: own?.id ?? free })
    })
  }

  /** Undefined: the payment is claimed. */
  async #insert(
    on: Pool | ClientBase,
    key: PaymentKey,
    what: Purchase,
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
        what.id ?? uuidv7(this.#clock.now().getTime()),
        what.purpose,
        what.requestHash,
        what.amount,
        what.payee,
        what.commissionBps,
        what.validBefore,
        what.upfront ?? false,
        what.client ?? null,
        what.payTo.toLowerCase(),
        what.call ?? null,
      ],
    )
    return rows[0] && { isNew: true, claim: toClaim(rows[0]) }
  }

  /**
   * Takes claims whose outcome, or then whose finality, is not known yet: those first that were
   * looked at longest ago, so that a few which cannot be resolved never hold up the others. A
   * failed one is watched as long as its authorization lives: whoever has it may still bring it
   * on chain.
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

  /** Forgets a claim: the payment was not valid, and nobody can bring it on chain. */
  async forget(key: PaymentKey): Promise<void> {
    await this.#pool.query(
      `DELETE FROM hub.payment_claim WHERE ${MATCHES_KEY} AND state = 'claimed'`,
      keyValues(key),
    )
  }

  /** Gives a claim up: nothing was executed. Others have seen the payment, so it is watched. */
  async release(key: PaymentKey): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.payment_claim SET state = 'released', changed_at = now()
       WHERE ${MATCHES_KEY} AND state = 'claimed'`,
      keyValues(key),
    )
  }

  /** Takes a released claim back, since its payment came. False: it was claimed again meanwhile. */
  async reopen({ id }: Claim): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET state = 'pending' WHERE id = $1 AND state = 'released'`,
      [id],
    )
    return rowCount === 1
  }

  /** Whether the work was done: then its answer is kept, or was. */
  async wasServed({ id, deliveredAt }: Claim): Promise<boolean> {
    if (deliveredAt) return true
    const { rowCount } = await this.#pool.query('SELECT FROM hub.kept_answer WHERE id = $1', [id])
    return rowCount === 1
  }

  /**
   * Takes up the work of a payment that has come, by this call and for so long. False: it is done,
   * or another request is at it.
   */
  async startWork(key: PaymentKey, call: string, seconds: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET working_until = now() + make_interval(secs => $5), call = $6
       WHERE ${MATCHES_KEY} AND delivered_at IS NULL
         AND (working_until IS NULL OR working_until < now())`,
      [...keyValues(key), seconds, call],
    )
    return rowCount === 1
  }

  /** Ends that work. What failed may be tried again with the same payment. */
  async finishWork(key: PaymentKey, delivered: boolean): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.payment_claim SET working_until = NULL,
         delivered_at = CASE WHEN $5 THEN now() END WHERE ${MATCHES_KEY} AND delivered_at IS NULL`,
      [...keyValues(key), delivered],
    )
  }

  /** Whether a payer has to pay before the work, since an earlier payment failed after it. */
  async mustPayUpfront(payer: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      'SELECT FROM hub.distrusted_payer WHERE payer = $1 AND until > now()',
      [payer.toLowerCase()],
    )
    return rowCount === 1
  }

  /** Work was done, and its payment failed: the next one comes before the work. */
  async distrust(payer: string, reason: string): Promise<void> {
    await this.#pool.query(
      `INSERT INTO hub.distrusted_payer VALUES ($1, now() + make_interval(days => $2), $3)
       ON CONFLICT (payer) DO UPDATE SET until = excluded.until, reason = excluded.reason`,
      [payer.toLowerCase(), DISTRUST_DAYS, reason],
    )
  }

  /** Whether the books have it, whatever the claim says. */
  isPosted({ id, payee }: Claim): Promise<boolean> {
    return isPosted(this.#pool, payee, id)
  }

  /** Notes what came of a payment. A final state does not change; failed may prove wrong. */
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
       WHERE ${MATCHES_KEY} AND (state IN ('claimed', 'pending', 'settled')
         OR state IN ('failed', 'released') AND $5 = 'confirmed')`,
      [...keyValues(key), state, transaction ?? null, served],
    )
  }
}

/** How long a payer who did not pay for work that was done has to pay before it. */
const DISTRUST_DAYS = 30
const CLAIM_ATTEMPTS_MAX = 20
