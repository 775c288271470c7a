import type { Pool } from 'pg'
import { derivedUuid, instantOf } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { reverseCall } from '../ledger/reverse.ts'

/** Charge of one call, by the journal or by the payment received for it. */
export interface CallCharge {
  readonly source: 'free' | 'credits' | 'x402'
  /** Microdollars; zero for a free call. */
  readonly charged: bigint
  /** Free calls or units that were used; null unless free. */
  readonly freeUnits: bigint | null
  /** Account that paid; null for x402. */
  readonly owner: Account | null
  /** `x402:` and the wallet that paid; null unless x402. */
  readonly payer: string | null
  /** Id of the journal entries. */
  readonly entry: string
  /** Endpoint and price version of the catalog; 0 if the payment does not name them. */
  readonly endpoint: number
  readonly priceVersion: number
  /** Transaction of the payment, from the payer or to the seller. */
  readonly transaction: string | null
  /** Payment to an external seller; null for a native call. */
  readonly sale: ExternalSale | null
}

/** Payment that the hub made to an external seller for a call. */
export interface ExternalSale {
  readonly url: string
  readonly pay_to: string
  readonly nonce: string
  /** Status of the seller's response; null if none is known. */
  readonly upstream_status: number | null
}

/** The ledger refused the refund of a lost call. */
export class RefundFailed extends Error {
  override readonly name = 'RefundFailed'
}

/** Author of refunds of lost calls. */
const AUTHOR = 'recover-calls'
const REASON = 'the response was lost with the hub'

/** Reads what the journal charged for a call on a shard, as JSON. */
const READ_SETTLED = `
  SELECT coalesce(json_agg(json_build_object('id', s.id, 'asset', s.asset, 'amount', s.amount,
    'endpoint', s.endpoint, 'price_version', s.price_version, 'owner', a.code)), '[]')::text
    AS settled
  FROM ledger.journal s JOIN ledger.account a ON a.id = s.owner
  WHERE s.shard = $1 AND s.owner = $2 AND s.id = $3 AND s.phase = 2 AND s.kind = 2`

const FIND_CHARGE = `
  SELECT CASE s.asset WHEN 3 THEN 'free' ELSE 'credits' END AS source,
    CASE s.asset WHEN 3 THEN 0 ELSE s.amount END AS charged,
    CASE s.asset WHEN 3 THEN s.amount END AS "freeUnits", s.owner, NULL AS payer,
    s.id AS entry, s.endpoint, s.price_version AS "priceVersion", p.transaction,
    CASE WHEN p.call IS NOT NULL THEN json_build_object('url', p.url, 'pay_to', p.payee,
      'nonce', p.nonce, 'upstream_status', p.status) END AS sale
  FROM json_to_recordset($2::json) s(id uuid, asset smallint, amount bigint, endpoint integer,
    price_version integer, owner text)
  LEFT JOIN hub.payment_intent p ON p.call = s.id
  UNION ALL
  SELECT 'x402', c.amount, NULL, NULL, 'x402:' || c.payer, c.id, 0, 0, c.transaction, NULL
  FROM hub.payment_claim c
  WHERE c.call = $1 AND c.state IN ('settled', 'confirmed') AND NOT c.deposited
  LIMIT 1`

/** Reads charges of calls, even of those that their process did not record; refunds lost ones. */
export class CallCharges {
  readonly #pool: Pool
  readonly #ledger: Ledger

  constructor(pool: Pool, ledger: Ledger) {
    this.#pool = pool
    this.#ledger = ledger
  }

  /** Finds what a call was charged; undefined if it was not. */
  async find(call: string): Promise<CallCharge | undefined> {
    const { rows: owners } = await this.#pool.query<{ owner: bigint; shard: number }>(
      'SELECT DISTINCT owner, shard FROM ledger.owners_of($1)',
      [call],
    )
    let settled = '[]'
    for (const { owner, shard } of owners) {
      if (settled !== '[]') break
      const { rows } = await this.#pool.query<{ settled: string }>(READ_SETTLED, [
        shard,
        owner,
        call,
      ])
      settled = rows[0]!.settled
    }
    const { rows } = await this.#pool.query<CallCharge>(FIND_CHARGE, [call, settled])
    return rows[0]
  }

  /**
   * Refunds a call whose response was lost, once however often called: credits by a reversal, free
   * calls by a grant, and an x402 payment by letting it pay for the next attempt.
   * @throws RefundFailed
   */
  async refund(call: string, { source, owner, freeUnits }: CallCharge): Promise<void> {
    if (source === 'x402') return this.#reopenPayment(call)
    const account = await this.#ledger.account(owner!)
    const why = { author: AUTHOR, reason: REASON }
    const outcome =
      source === 'credits'
        ? await reverseCall(this.#pool, this.#ledger, { call, owner: account }, why)
        : await this.#ledger.post(
            { type: 'units.granted', account: account.code, asset: 'FREECALL', units: freeUnits! },
            { owner: account, id: derivedUuid(instantOf(call), `lost ${call}`), meta: why },
          )
    // Other terms: staff has already refunded a part of it.
    if (outcome === 'applied' || outcome === 'replayed') return
    if (outcome !== 'id_reused_with_other_terms')
      throw new RefundFailed(`${call} not refunded: ${outcome}`)
  }

  /** Lets a payment pay for another attempt; unused for a day, it is refunded. */
  async #reopenPayment(call: string): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.payment_claim SET delivered_at = NULL, working_until = NULL
       WHERE call = $1 AND delivered_at IS NOT NULL AND NOT deposited`,
      [call],
    )
  }
}
