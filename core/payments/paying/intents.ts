import { DatabaseError, type Pool } from 'pg'
import { Fault } from '../../errors.ts'
import type { Hex } from '../chain/asset.ts'
import { expiryOf, type SignedPayment } from './x402-client.ts'

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

/** The most that may be signed for in a UTC day, in microdollars. */
export interface OutflowCaps {
  /** By one key. */
  readonly key: bigint
  /** To one host. */
  readonly host: bigint
  /** By the whole platform. */
  readonly platform: bigint
}

export interface PaymentOrder {
  readonly call: string
  /** Key whose call it is; its root's credits pay. */
  readonly payer: string
  readonly url: string
  readonly network: string
  readonly asset: string
  readonly fromBlock: bigint
  readonly signed: SignedPayment
}

/** What is known of the end of an intent. */
export interface IntentResult {
  readonly transaction?: string | undefined
  /** Of the seller's answer. */
  readonly status?: number | undefined
  /** Why nothing was delivered: a code of the fault table. */
  readonly reason?: string | undefined
}

/** Signed payments, each committed before it leaves: what is signed is as good as paid. */
export class Intents {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * Counts a signed payment against the caps of the day, and keeps it.
   * @throws Fault `payments_paused`, or `outflow_cap_reached` with the cap's `scope`
   * @throws Error (unique violation) when the call has an intent already: one signature each
   */
  async commit(order: PaymentOrder, caps: OutflowCaps): Promise<void> {
    const { call, network, asset, payer, url, signed } = order
    const row = {
      call,
      network,
      asset,
      url,
      host: new URL(url).host,
      seller: sellerOf(url),
      from_block: String(order.fromBlock),
      payer: signed.from,
      payee: signed.to,
      amount: String(signed.value),
      nonce: signed.nonce,
      valid_before: expiryOf(signed),
      payload_hash: signed.payloadHash,
    }
    try {
      const { rowCount } = await this.#pool.query(
        `SELECT hub.commit_payment(p, ARRAY[$2, $3, $4]::bigint[])
         FROM hub.api_key k CROSS JOIN LATERAL json_populate_record(NULL::hub.payment_intent,
           ($1::jsonb || jsonb_build_object('owner', k.credits))::json) p WHERE k.id = $5`,
        [JSON.stringify(row), caps.key, caps.host, caps.platform, payer],
      )
      if (rowCount !== 1) throw new Error(`no such key: ${payer}`)
    } catch (error) {
      throw toFault(error)
    }
  }

  /** Notes what became of an intent; a final state does not change any more. */
  async conclude(call: string, state: IntentState, known: IntentResult = {}): Promise<void> {
    const { transaction = null, status = null, reason = null } = known
    await this.#pool.query('SELECT hub.conclude_payment($1, $2, $3, $4, $5)', [
      call,
      state,
      transaction,
      status,
      reason,
    ])
  }

  /** Puts a charge that came later into the record of its call, which says that it was open. */
  async recordCharge(call: string, amount: bigint): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.call SET charged = $2, outcome = 'taken' WHERE id = $1
        AND outcome = 'unresolved'`,
      [call, amount],
    )
  }

  /** … and a charge that went back. */
  async recordRefund(call: string): Promise<void> {
    await this.#pool.query(`UPDATE hub.call SET charged = 0, outcome = 'failed' WHERE id = $1`, [
      call,
    ])
  }

  /** Whom a seller had paid when it last delivered; undefined for one that never did. */
  async knownPayee(url: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query<{ payee: string }>(
      `SELECT payee FROM hub.payment_intent WHERE seller = $1 AND state IN ('paid', 'confirmed')
         AND reason IS NULL ORDER BY call DESC LIMIT 1`,
      [sellerOf(url)],
    )
    return rows[0]?.payee
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

/** What is sold at a URL: its origin and path, whatever the query asks for. */
const sellerOf = (url: string): string => {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

const PAUSED = 'AH010'
const ABOVE_CAP = 'AH011'
const CAP_OWNERS = { key: 'this key', host: 'this host', platform: 'the hub' } as const

/** A refusal of the database as the fault that the caller is told; other errors as they are. */
function toFault(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error
  if (error.code === PAUSED) return new Fault('payments_paused', undefined, { cause: error })
  if (error.code !== ABOVE_CAP) return error
  const scope = error.message.split(':')[0] as keyof typeof CAP_OWNERS
  const detail = `The daily limit of ${CAP_OWNERS[scope]} for payments to sellers is reached.`
  return new Fault('outflow_cap_reached', detail, { extras: { scope }, cause: error })
}
