import type { ClientBase } from 'pg'
import { findOrCreatePrincipal } from '../../identity/main-keys.ts'
import { derivedUuid, instantOf } from '../../ids.ts'
import type { LedgerOutcome } from '../../ledger/events.ts'
import { ledgerInTransaction, type PostingLedger } from '../../ledger/in-transaction.ts'
import { type Decision, reverseSale } from '../../ledger/reverse.ts'
import type { Micros } from '../../money.ts'

/**
 * Refunds a call paid per request by x402, once, as a deposit of the wallet that paid: a job turns
 * it into credits when the wallet has a key. Payment for work that was not done yet cannot pay for
 * it any more.
 * @param client with an open transaction
 * @param id of the payment claim
 * @param refunded @defaultValue the amount paid
 * @returns outcomes of `reverseSale`
 */
export async function refundSale(
  client: ClientBase,
  ledger: PostingLedger,
  id: string,
  decision: Decision,
  refunded?: Micros,
): Promise<LedgerOutcome> {
  const { rows } = await client.query<{ payer: string; amount: Micros; payee: string }>(
    `UPDATE hub.payment_claim SET deposited = deposited OR delivered_at IS NULL
     WHERE id = $1 AND purpose = 'call' RETURNING payer, amount, payee`,
    [id],
  )
  const [claim] = rows
  if (!claim) return 'no_such_hold'
  const amount = refunded ?? claim.amount
  // A refund that an earlier version left for later has a deposit with `refund_at`.
  const deposit = await client.query(
    `INSERT INTO hub.wallet_deposit AS d (id, wallet, amount, is_suspended)
     VALUES ($1, $2, $3, true)
     ON CONFLICT (id) DO UPDATE SET refund_at = NULL
       WHERE d.refund_at IS NOT NULL AND d.amount = excluded.amount`,
    [id, claim.payer, amount],
  )
  if (deposit.rowCount === 0) return 'id_reused_with_other_terms'
  const { shard } = await findOrCreatePrincipal(client, claim.payer)
  const poster = ledgerInTransaction(ledger, client)
  const sale = { id, payee: await poster.account(claim.payee) }
  const arrival = { id: derivedUuid(instantOf(id), `arrival of refund ${id}`), shard }
  return reverseSale(client, poster, sale, arrival, decision, amount)
}
