import type { ClientBase, Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import type { ProcessLease } from '../../db/process-lease.ts'
import { inTransaction } from '../../db/transaction.ts'
import { uuidv7 } from '../../ids.ts'
import { isPosted } from '../../ledger/idempotency.ts'
import type { SealedResponse } from '../../usage/stored-responses.ts'
import { FINALITY_FACTORS } from '../chain/verdict.ts'
import { beginSettlement } from './begin-settlement.ts'
import {
  ApprovalInUse,
  attemptIds,
  CLAIM_COLUMNS,
  type Claim,
  type ClaimResult,
  type ClaimRow,
  findClaim,
  IS_KEY,
  insertClaim,
  isClosed,
  isIdentifierTaken,
  isSameKey,
  isUnsent,
  keyValues,
  type Purchase,
  SELECT_CLAIM,
  takeOverClaim,
  toClaim,
} from './claim.ts'
import { EarlyCredits } from './early-credits.ts'
import { PaidWorkClaims } from './paid-work-claims.ts'
import { PayerTrust } from './payer-trust.ts'
import type { PaymentKey } from './payment.ts'

/** Microdollars from which a payment needs more confirmations to be final: up to twenty minutes. */
const SLOWLY_FINAL_FROM = FINALITY_FACTORS.at(-2)![0]

/** Store of received payments: each is claimed before verification, so that it is served once. */
export class Claims {
  readonly #pool: Pool
  readonly #clock: Clock
  readonly #lease: ProcessLease
  readonly early: EarlyCredits
  readonly trust: PayerTrust
  readonly work: PaidWorkClaims

  constructor(pool: Pool, clock: Clock, lease: ProcessLease) {
    this.#pool = pool
    this.#clock = clock
    this.#lease = lease
    this.early = new EarlyCredits(pool)
    this.trust = new PayerTrust(pool)
    this.work = new PaidWorkClaims(pool, lease)
  }

  /** @throws Fault `payment_identifier_reused`: see `findClaim` */
  find(key: PaymentKey, identifier?: string): Promise<Claim | undefined> {
    return findClaim(this.#pool, key, identifier)
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

  /**
   * Claims a payment, or returns its existing claim, or that of another payment of a named
   * purchase. If a process that is gone had claimed this payment for the same purchase, or it is
   * not known to be sent, it is taken over: it is as good as new, and keeps its id, under which it
   * may be posted.
   * @throws ApprovalInUse
   */
  async claim(key: PaymentKey, purchase: Purchase): Promise<ClaimResult> {
    for (let tries = 0; tries < CLAIM_ATTEMPTS_MAX; tries++) {
      const claimed = await (purchase.id === undefined
        ? this.#claimUnnamed(key, purchase)
        : this.#claimNamed(key, purchase, purchase.id))
      if (claimed?.isNew) return claimed
      const claim = claimed?.claim ?? (await this.find(key))
      const isSame = claim && isSameKey(claim.key, key)
      const taken = isSame && (await this.#takeOver(claim, purchase))
      if (taken) return { isNew: true, isRepeated: true, claim: taken }
      if (claim) return { isNew: false, claim }
      // Another request released it in between, because the payment was invalid then.
    }
    throw new Error('a claim was released each time it was read')
  }

  /** If it is unknown whether the claim was stored, it is released: its request fails. */
  async #claimUnnamed(key: PaymentKey, purchase: Purchase): Promise<ClaimResult | undefined> {
    const id = uuidv7(this.#clock.now().getTime())
    try {
      return await insertClaim(this.#pool, key, { ...purchase, id }, this.#lease.id)
    } catch (error) {
      // Both are unique, and this payment may have them by a request at the same time.
      const mayBeSame = error instanceof ApprovalInUse || isIdentifierTaken(error)
      const same = mayBeSame ? await this.find(key, purchase.identifier) : undefined
      if (same && same.state !== 'released') return undefined
      void this.release({ id })
      throw error
    }
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
      const id = same?.id ?? free
      if (id === undefined) throw new Error(`purchase ${name} has failed too often`)
      return insertClaim(client, key, { ...purchase, id }, this.#lease.id)
    })
  }

  /** Begins a settlement, as `beginSettlement`. */
  beginSettlement(
    claim: Pick<Claim, 'id' | 'amount'>,
    response?: SealedResponse,
  ): Promise<boolean> {
    return beginSettlement(this.#pool, claim, this.#lease.id, response)
  }

  /** Takes a claim over, as `takeOverClaim`. */
  async #takeOver(claim: Claim, purchase: Purchase): Promise<Claim | undefined> {
    if (claim.state !== 'claimed' && !isUnsent(claim)) return undefined
    return await takeOverClaim(this.#pool, claim, purchase, this.#lease.id).catch((error) => {
      // It may be taken over nevertheless.
      if (!claim.mayBeSent) void this.release(claim)
      throw error
    })
  }

  /** Takes a pending payment to ask the chain for it. False if it was taken a second ago. */
  async takePending({ id }: Claim): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `UPDATE hub.payment_claim SET changed_at = now()
       WHERE id = $1 AND state = 'pending' AND changed_at < now() - interval '1 second'`,
      [id],
    )
    return rowCount === 1
  }

  /**
   * Takes claims of one network whose outcome or finality is unknown, least recently checked
   * first, so that unresolvable ones do not block others. Failed claims are watched until their
   * authorization has expired and a last settlement is final, because anyone who has it may still
   * settle it. Pending ones are taken after a second.
   */
  async takeUnfinished(
    olderThanSeconds: number,
    limit: number,
    network: string,
  ): Promise<readonly Claim[]> {
    const { rows } = await this.#pool.query<ClaimRow>(
      `UPDATE hub.payment_claim SET changed_at = now() WHERE id IN (
         SELECT id FROM hub.payment_claim
         WHERE network = $4 AND state IN ('claimed', 'pending', 'settled', 'failed', 'released')
           AND (state NOT IN ('failed', 'released')
             OR changed_at < valid_before + CASE WHEN amount < $3 THEN interval '1 minute'
               ELSE interval '30 minutes' END)
           AND changed_at < now() - make_interval(
             secs => CASE state WHEN 'pending' THEN least($1::float8, 1) ELSE $1 END)
         ORDER BY state IN ('settled', 'failed', 'released'), changed_at
         LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING ${CLAIM_COLUMNS}`,
      [olderThanSeconds, limit, SLOWLY_FINAL_FROM, network],
    )
    return rows.map(toClaim)
  }

  /** Deletes the claim of an invalid payment that nobody can settle. */
  forget({ id }: Claim): Promise<void> {
    return this.#lease.release(() =>
      this.#pool.query(
        `DELETE FROM hub.payment_claim WHERE id = $1 AND state = 'claimed' AND process = $2`,
        [id, this.#lease.id],
      ),
    )
  }

  /** Releases a claim without delivery. It is watched, because others have seen the payment. */
  release({ id }: Pick<Claim, 'id'>): Promise<void> {
    return this.#lease.release(() =>
      this.#pool.query(
        `UPDATE hub.payment_claim SET state = 'released', changed_at = now()
         WHERE id = $1 AND state = 'claimed' AND process = $2`,
        [id, this.#lease.id],
      ),
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

  /** Returns true if the payer has paid for the same request by another one, on any network. */
  async wasPaidAgain({ id, key, requestHash }: Claim): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `SELECT FROM hub.payment_claim WHERE payer = $1
         AND request_hash = $2 AND id <> $3 AND state IN ('settled', 'confirmed')
         AND claimed_at >= (SELECT claimed_at FROM hub.payment_claim WHERE id = $3) LIMIT 1`,
      [key.payer, requestHash, id],
    )
    return rowCount === 1
  }

  /** Returns true if the work was done. */
  async wasServed({ id, call, deliveredAt }: Claim): Promise<boolean> {
    if (deliveredAt) return true
    const { rowCount } = await this.#pool.query(
      `SELECT FROM hub.kept_answer WHERE id = $1
       UNION ALL SELECT FROM hub.call WHERE id = $2 AND outcome = 'delivered'`,
      [id, call ?? null],
    )
    return rowCount !== 0
  }

  /** Returns true if the journal has the payment, whatever state the claim has. */
  isPosted({ id, payee }: Claim): Promise<boolean> {
    return isPosted(this.#pool, payee, id)
  }

  /**
   * Stores the outcome of a payment. Final states do not change, except `failed`. If the database
   * is out of reach, the outcome is stored later.
   */
  async conclude(
    key: PaymentKey,
    state: 'settled' | 'confirmed' | 'pending' | 'failed',
    transaction?: string,
    served = false,
  ): Promise<void> {
    const values = [...keyValues(key), state, transaction ?? null, served]
    const store = () => this.#pool.query({ ...CONCLUDE, values })
    await store().catch((error: unknown): never => {
      void this.#lease.release(store)
      throw error
    })
  }
}

const CONCLUDE = {
  name: 'claims.conclude',
  text: `UPDATE hub.payment_claim
    SET state = $5, transaction = coalesce($6, transaction), changed_at = now(),
      delivered_at = CASE WHEN $7 THEN coalesce(delivered_at, now()) ELSE delivered_at END
    WHERE ${IS_KEY} AND (state IN ('claimed', 'pending', 'settled')
      OR state IN ('failed', 'released') AND $5 = 'confirmed')`,
}

const CLAIM_ATTEMPTS_MAX = 20
