import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { findOrCreatePrincipal, oldestMainKey } from '../../identity/main-keys.ts'
import { derivedUuid, instantOf } from '../../ids.ts'
import type { NetworkName } from '../../ledger/events.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { creditsOf, SUSPENSE } from '../../ledger/postings.ts'
import type { Micros } from '../../money.ts'
import { assetOf } from '../chain/asset.ts'
import { postEntry } from '../post-entry.ts'
import { type Claim, REFUND_HOURS } from './claim.ts'
import { refundSale } from './refund-sale.ts'

/** Money of a payer that arrived for no call. */
interface Deposit {
  readonly id: string
  readonly wallet: string
  readonly amount: bigint
  /** Key that gets the credits; null: the wallet has none yet. */
  readonly creditedTo: string | null
  /** True if it was posted to suspense first. */
  readonly isSuspended: boolean
}

const COLUMNS = `id, wallet, amount, credited_to AS "creditedTo", is_suspended AS "isSuspended"`

const IS_UNDELIVERED = `purpose = 'call' AND state = 'confirmed'
  AND delivered_at IS NULL AND NOT deposited AND (working_until IS NULL OR working_until < now())
  AND claimed_at < now() - make_interval(hours => ${REFUND_HOURS})
  AND NOT EXISTS (SELECT FROM hub.call k WHERE k.id = call AND k.outcome = 'delivered')`
/** Refund that an earlier version could not post yet. */
const IS_REFUND_DUE = 'refund_at <= now()'
const BATCH_SIZE = 100
const AUTHOR = 'resolve-payments'

/** Deposits of paying wallets: credits of their key, or suspense until the wallet registers. */
export class Deposits {
  readonly #pool: Pool
  readonly #ledger: Ledger

  constructor(pool: Pool, ledger: Ledger) {
    this.#pool = pool
    this.#ledger = ledger
  }

  /**
   * Posts the payment of a claim that buys nothing as a deposit of its payer. The claim cannot be
   * used again. Repeated calls post once.
   */
  async post({ id, amount, key: { payer: wallet, network } }: Claim): Promise<void> {
    await this.#pool.query(
      `WITH claim AS (UPDATE hub.payment_claim SET deposited = true WHERE id = $2)
       INSERT INTO hub.wallet_deposit (id, wallet, amount, credited_to, is_suspended)
       SELECT $2::uuid, $1::text, $3::bigint, k.id, k.id IS NULL
       FROM (SELECT) one LEFT JOIN (${oldestMainKey('$1')}) k ON true
       ON CONFLICT (id) DO NOTHING`,
      [wallet, id, amount],
    )
    const { rows } = await this.#pool.query<Deposit>(
      `SELECT ${COLUMNS} FROM hub.wallet_deposit WHERE id = $1`,
      [id],
    )
    const deposit = rows[0]!
    const { v1Network } = assetOf(network)
    if (deposit.isSuspended) await this.#suspend(deposit, v1Network)
    else await this.#creditReceived(deposit, v1Network)
  }

  /**
   * Returns to its payer the money of every payment for work that was not delivered in a day. It
   * cannot pay for work any more. What the provider was already paid out becomes its debt.
   */
  async refundUndelivered(): Promise<void> {
    const { rows } = await this.#pool.query<{ id: string }>(
      `SELECT id FROM hub.payment_claim WHERE ${IS_UNDELIVERED}
       UNION ALL SELECT id FROM hub.wallet_deposit WHERE ${IS_REFUND_DUE} LIMIT ${BATCH_SIZE}`,
    )
    const decision = { author: AUTHOR, reason: 'the paid work did not succeed' }
    for (const { id } of rows) {
      await inTransaction(this.#pool, async (client) => {
        const due = await client.query(
          `SELECT FROM hub.payment_claim c WHERE id = $1 AND (${IS_UNDELIVERED}
             OR EXISTS (SELECT FROM hub.wallet_deposit d WHERE d.id = c.id AND ${IS_REFUND_DUE}))
           FOR UPDATE SKIP LOCKED`,
          [id],
        )
        const outcome = due.rowCount === 1 && (await refundSale(client, this.#ledger, id, decision))
        // Other terms: it was refunded before, and from now on cannot pay for work any more.
        if (outcome && outcome !== 'applied' && outcome !== 'id_reused_with_other_terms')
          throw new Error(`refund of ${id}: ${outcome}`)
      })
    }
  }

  /** Credits deposits in suspense whose wallet has a key by now. */
  async creditIdentified(): Promise<void> {
    const { rows } = await this.#pool.query<Deposit>(
      `SELECT ${COLUMNS} FROM hub.wallet_deposit d WHERE credited_at IS NULL AND is_suspended
         AND refund_at IS NULL
         AND EXISTS (SELECT FROM hub.payment_claim c WHERE c.id = d.id AND c.state = 'confirmed')
         AND (credited_to IS NOT NULL OR EXISTS (${oldestMainKey('d.wallet')}))
       ORDER BY at LIMIT ${BATCH_SIZE}`,
    )
    for (const { id, wallet } of rows) {
      // The key is stored before the entry is posted, so that a repetition posts the same one.
      const { rows: assigned } = await this.#pool.query<Deposit>(
        `UPDATE hub.wallet_deposit SET credited_to = coalesce(credited_to, (${oldestMainKey('$1')}))
         WHERE id = $2 RETURNING ${COLUMNS}`,
        [wallet, id],
      )
      if (assigned[0]) await this.#creditSuspended(assigned[0])
    }
  }

  async #suspend({ id, wallet, amount }: Deposit, network: NetworkName): Promise<void> {
    const owner = await this.#suspenseOf(wallet)
    const event = {
      type: 'surplus.found',
      wallet: 'in-transit',
      amount: amount as Micros,
      network,
    } as const
    const reason = 'a payment reported as failed arrived; its wallet has no key'
    await postEntry(this.#ledger, event, {
      owner,
      id,
      meta: { payer: wallet, author: AUTHOR, reason },
    })
  }

  /** Credits a deposit that just arrived on a network. */
  async #creditReceived(deposit: Deposit, network: NetworkName): Promise<void> {
    const { id, wallet } = deposit
    const [credits, amount] = [creditsOf(deposit.creditedTo!), deposit.amount as Micros]
    const event = { type: 'credits.purchased', credits, amount, network } as const
    const owner = await this.#ledger.account(credits)
    await postEntry(this.#ledger, event, { owner, id, meta: { payer: wallet } })
    await this.#noteCredited(id)
  }

  async #creditSuspended(deposit: Deposit): Promise<void> {
    const { id, wallet } = deposit
    const [credits, amount] = [creditsOf(deposit.creditedTo!), deposit.amount as Micros]
    const event = { type: 'deposit.identified', credits, amount } as const
    const reason = 'the wallet that paid it has a key'
    await postEntry(this.#ledger, event, {
      owner: await this.#suspenseOf(wallet),
      id: derivedUuid(instantOf(id), `credit of deposit ${id}`),
      meta: { payer: wallet, author: AUTHOR, reason },
    })
    await this.#noteCredited(id)
  }

  async #noteCredited(id: string): Promise<void> {
    await this.#pool.query('UPDATE hub.wallet_deposit SET credited_at = now() WHERE id = $1', [id])
  }

  /** Suspense on the shard of the wallet's principal, where its future keys are. */
  async #suspenseOf(wallet: string) {
    const { shard } = await findOrCreatePrincipal(this.#pool, wallet)
    return { ...(await this.#ledger.account(SUSPENSE)), shard }
  }
}
