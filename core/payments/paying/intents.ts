import { DatabaseError, type Pool } from 'pg'
import { Fault } from '../../errors.ts'
import { HoldExpired } from '../../ledger/hold-expired.ts'
import { BEGIN_FOR_MS, isDuplicateKey, withRetry } from '../../ledger/retry.ts'
import type { Hex } from '../chain/asset.ts'
import type { Settlement } from '../chain/permit.ts'
import { expiryOf, type SignedPayment } from './x402-client.ts'

/** A payment to a seller that the hub signed for a call. */
export interface Intent {
  readonly call: string
  readonly state: IntentState
  /** Code of the account whose hold covers it. */
  readonly owner: string
  readonly payer: Hex
  readonly payee: Hex
  /** Microdollars; of a metered price the maximum, until it is known what was taken. */
  readonly amount: bigint
  /** Maximum of a metered price; null for an exact amount. */
  readonly authorized: bigint | null
  readonly nonce: Hex
  readonly validBefore: Date
  readonly fromBlock: bigint
  /** Transaction that the seller named or the chain shows. */
  readonly tx: Hex | null
}

/**
 * `signed`: it may have been sent. `unresolved`: it was sent and its outcome is unknown.
 * `paid`: the seller or the chain reports it, and the caller is charged.
 * `confirmed`: final on chain and posted. `unused`: it can never be used.
 */
export type IntentState = 'signed' | 'unresolved' | 'paid' | 'confirmed' | 'unused'

/** Maximum amounts signed per UTC day, in microdollars. */
export interface OutflowCaps {
  /** By one key. */
  readonly key: bigint
  /** To one host. */
  readonly host: bigint
  /** By the whole platform. */
  readonly platform: bigint
}

/** Maximum amounts signed without a known outcome, in microdollars. */
export interface UnresolvedCaps {
  /** Maximum of one principal, with all its keys. */
  readonly principal: bigint
  /** Maximum of one seller: its payee address, and its host. */
  readonly seller: bigint
}

export interface PaymentOrder {
  readonly call: string
  /** Key of the call; the credits of its main key pay. */
  readonly payer: string
  readonly url: string
  readonly network: string
  readonly asset: string
  readonly fromBlock: bigint
  /** True if the caller accepted a payee that is not known. */
  readonly payeeAccepted: boolean
  /** True if the request lacks a field that the seller requires: a failure is the caller's. */
  readonly incomplete?: boolean
  readonly signed: SignedPayment
}

/** Known result of an intent. */
export interface IntentResult {
  readonly transaction?: string | undefined
  /** Status of the seller's response. */
  readonly status?: number | undefined
  /** Fault code for a failed delivery. */
  readonly reason?: string | undefined
  /** Amount that the chain shows to be taken of a maximum. */
  readonly taken?: bigint | undefined
}

const INTENT_COLUMNS = `i.call, i.state, a.code AS owner, i.payer, i.payee, i.amount,
  i.authorized, i.nonce, i.valid_before AS "validBefore", i.from_block AS "fromBlock",
  i.transaction AS tx`

const COMMIT = `SELECT hub.commit_payment(p, $2::bigint[])
  FROM hub.api_key k CROSS JOIN LATERAL json_populate_record(NULL::hub.payment_intent,
    ($1::jsonb || jsonb_build_object('owner', k.credits, 'principal', k.principal))::json) p
  WHERE k.id = $3`

/** Store of signed payments, each committed before it is sent: a signature is as good as paid. */
export class Intents {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * Stores a signed payment and counts it against the caps of the day and of what is unresolved.
   * After a lost connection it is unknown if the payment is stored: a retry finds out.
   * @throws Fault `payments_paused`; `outflow_cap_reached` or `unresolved_cap_reached` with `scope`
   * @throws Fault `service_unavailable` if the hold of the call was released meanwhile
   * @throws LedgerUnavailable if the database stays unreachable
   * @returns false if the call has another intent already: one authorization per call
   */
  async commit(order: PaymentOrder, caps: OutflowCaps & UnresolvedCaps): Promise<boolean> {
    const { call, network, asset, payer, url, signed } = order
    const row = {
      call,
      network,
      asset,
      url,
      host: hostOf(url),
      seller: sellerOf(url),
      from_block: String(order.fromBlock),
      payer: signed.from,
      payee: signed.to,
      amount: String(signed.value),
      authorized: signed.isMaximum ? String(signed.value) : null,
      nonce: signed.nonce,
      valid_before: expiryOf(signed),
      payload_hash: signed.payloadHash,
      payee_accepted: order.payeeAccepted,
      incomplete: order.incomplete ?? false,
    }
    try {
      const values = [JSON.stringify(row), capValues(caps), payer]
      const { rowCount } = await withRetry(() => this.#pool.query(COMMIT, values), BEGIN_FOR_MS)
      if (rowCount !== 1) throw new Error(`no such key: ${payer}`)
      return true
    } catch (error) {
      if (!isDuplicateKey(error) && !isAboveCap(error)) throw toFault(error)
      // If the reply to an attempt was lost, the next one finds its intent, or its amount counted.
      if ((await this.find(call, 'signed'))?.nonce === signed.nonce) return true
      if (isDuplicateKey(error)) return false
      throw toFault(error)
    }
  }

  /** Finds the intent of a call. @param state only in this state */
  async find(call: string, state?: IntentState): Promise<Intent | undefined> {
    const { rows } = await this.#pool.query<Intent>(
      `SELECT ${INTENT_COLUMNS} FROM hub.payment_intent i JOIN ledger.account a ON a.id = i.owner
       WHERE i.call = $1 AND i.state = coalesce($2, i.state)`,
      [call, state],
    )
    return rows[0]
  }

  /** Stores the outcome of an intent. Final states do not change. */
  async conclude(call: string, state: IntentState, result: IntentResult = {}): Promise<void> {
    const { transaction = null, status = null, reason = null, taken = null } = result
    await this.#pool.query('SELECT hub.conclude_payment($1, $2, $3, $4, $5, $6)', [
      call,
      state,
      transaction,
      status,
      reason,
      taken,
    ])
  }

  /** Records a late charge in its call record, whose outcome was `unresolved`. */
  async recordCharge(call: string, amount: bigint): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.call SET charged = $2, outcome = 'taken' WHERE id = $1
        AND outcome = 'unresolved'`,
      [call, amount],
    )
  }

  /** Records the refund of a charge in its call record. */
  async recordRefund(call: string): Promise<void> {
    await this.#pool.query(`UPDATE hub.call SET charged = 0, outcome = 'failed' WHERE id = $1`, [
      call,
    ])
  }

  /**
   * Finds the payee of a seller's last delivery in 30 days; undefined if there is none. A payee
   * that a caller accepted is not known for others: who controls the seller could buy from
   * themselves.
   */
  async knownPayee(url: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query<{ payee: string }>(
      `SELECT payee FROM hub.payment_intent WHERE seller = $1 AND state IN ('paid', 'confirmed')
         AND reason IS NULL AND payee_accepted IS NOT TRUE
         AND created_at > now() - interval '30 days' ORDER BY call DESC LIMIT 1`,
      [sellerOf(url)],
    )
    return rows[0]?.payee
  }

  /** Finds which of these transactions settled other metered purchases than a call's. */
  async settledOthers(call: string, txs: readonly Hex[]): Promise<readonly Settlement[]> {
    const { rows } = await this.#pool.query<Settlement>(
      `SELECT transaction AS tx, amount AS value FROM hub.payment_intent
       WHERE transaction = ANY ($1) AND call <> $2 AND authorized IS NOT NULL
         AND state IN ('paid', 'confirmed')`,
      [txs, call],
    )
    return rows
  }

  /** Takes intents that are not final, least recently checked first. */
  async takeUnfinished(olderThanSeconds: number, limit: number): Promise<readonly Intent[]> {
    const { rows } = await this.#pool.query<Intent>(
      `UPDATE hub.payment_intent i SET changed_at = now() FROM ledger.account a
       WHERE a.id = i.owner AND i.call IN (
         SELECT call FROM hub.payment_intent WHERE state IN ('signed', 'unresolved', 'paid')
           AND changed_at < now() - make_interval(secs => $1)
         ORDER BY changed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING ${INTENT_COLUMNS}`,
      [olderThanSeconds, limit],
    )
    return rows
  }
}

/** Identity of a host, whatever spelling names it: without a final dot and a standard port. */
function hostOf(url: string): string {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/\.$/, '')
  return port === '' || port === '80' || port === '443' ? host : `${host}:${port}`
}

/** Identity of a seller: scheme, host and path of the URL, without the query. */
const sellerOf = (url: string): string => {
  const { protocol, pathname } = new URL(url)
  return `${protocol}//${hostOf(url)}${pathname}`
}

/** Caps in the order of the parameter of `hub.commit_payment`. */
const capValues = (caps: OutflowCaps & UnresolvedCaps): readonly bigint[] => [
  caps.key,
  caps.host,
  caps.platform,
  caps.principal,
  caps.seller,
  caps.seller,
]

const PAUSED = 'AH010'
const ABOVE_CAP = 'AH011'
const ABOVE_UNRESOLVED_CAP = 'AH012'
const HOLD_RESOLVED = 'AH014'
const CAP_OWNERS = { key: 'this key', host: 'this host', platform: 'the hub' } as const
const UNRESOLVED_OWNERS = {
  principal: 'this account',
  pay_to: 'this payee',
  host: 'this host',
} as const

const isAboveCap = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  (error.code === ABOVE_CAP || error.code === ABOVE_UNRESOLVED_CAP)

/** Converts a refusal of the database to a fault; returns other errors unchanged. */
function toFault(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error
  if (error.code === PAUSED) return new Fault('payments_paused', undefined, { cause: error })
  if (error.code === HOLD_RESOLVED) return new HoldExpired()
  const [scopeName = ''] = error.message.split(':')
  if (error.code === ABOVE_UNRESOLVED_CAP) {
    const scope = scopeName as keyof typeof UNRESOLVED_OWNERS
    const detail =
      `Payments of or to ${UNRESOLVED_OWNERS[scope]} with an unknown outcome reach their limit. ` +
      'Nothing was paid.'
    return new Fault('unresolved_cap_reached', detail, {
      extras: { scope },
      cause: error,
    })
  }
  if (error.code !== ABOVE_CAP) return error
  const scope = scopeName as keyof typeof CAP_OWNERS
  const detail = `The daily limit of ${CAP_OWNERS[scope]} for payments to sellers is reached.`
  return new Fault('outflow_cap_reached', detail, { extras: { scope }, cause: error })
}
