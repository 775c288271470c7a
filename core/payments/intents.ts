import type { Pool } from 'pg'
import type { AccountRef } from '../ledger/ledger.ts'
import type { Hex } from './asset.ts'
import type { SignedPayment } from './buying.ts'

/** A payment that the hub signed for a call. */
export interface Intent {
  readonly call: string
  /** Code of the account whose hold pays. */
  readonly owner: string
  readonly payer: Hex
  readonly payee: Hex
  /** Microdollars. */
  readonly amount: bigint
  readonly nonce: Hex
  readonly validBefore: Date
  readonly fromBlock: bigint
}

/**
 * `signed`: it may be anywhere. `unresolved`: it left, and nobody knows what became of it.
 * `paid`: the seller says so, and the caller is charged. `confirmed`: seen on chain and booked.
 * `unused`: it can never be used any more.
 */
export type IntentState = 'signed' | 'unresolved' | 'paid' | 'confirmed' | 'unused'

/** Signed payments, each committed before it leaves: what is signed is as good as paid. */
export class Intents {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** @throws Error (unique violation) when the call has an intent already: one signature each */
  async commit(order: {
    readonly call: string
    readonly owner: AccountRef
    readonly url: string
    readonly network: string
    readonly asset: string
    readonly fromBlock: bigint
    readonly signed: SignedPayment
  }): Promise<void> {
    const { signed } = order
    await this.#pool.query(
      `INSERT INTO hub.payment_intent (call, owner, url, network, asset, payer, payee, amount,
         nonce, valid_before, payload_hash, from_block)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, to_timestamp($10), $11, $12)`,
      [
        order.call,
        order.owner.id,
        order.url,
        order.network,
        order.asset,
        signed.from,
        signed.to,
        signed.value,
        signed.nonce,
        signed.validBefore,
        signed.payloadHash,
        order.fromBlock,
      ],
    )
  }

  /** Notes what became of an intent; a final state does not change any more. */
  async conclude(
    call: string,
    state: IntentState,
    known: { readonly transaction?: string | undefined; readonly reason?: string } = {},
  ): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.payment_intent
       SET state = $2, transaction = coalesce($3, transaction), reason = coalesce($4, reason),
         changed_at = now()
       WHERE call = $1 AND state IN ('signed', 'unresolved', 'paid')`,
      [call, state, known.transaction ?? null, known.reason ?? null],
    )
  }

  /** Takes intents that are not final: those first that were looked at longest ago. */
  async takeUnfinished(olderThanSeconds: number, limit: number): Promise<readonly Intent[]> {
    const { rows } = await this.#pool.query<Intent>(
      `UPDATE hub.payment_intent i SET changed_at = now() FROM ledger.account a
       WHERE a.id = i.owner AND i.call IN (
         SELECT call FROM hub.payment_intent WHERE state IN ('signed', 'unresolved', 'paid')
           AND changed_at < now() - make_interval(secs => $1)
         ORDER BY changed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING i.call, a.code AS owner, i.payer, i.payee, i.amount, i.nonce,
         i.valid_before AS "validBefore", i.from_block AS "fromBlock"`,
      [olderThanSeconds, limit],
    )
    return rows
  }
}
