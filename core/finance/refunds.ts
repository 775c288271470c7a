import type { ClientBase } from 'pg'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import type { LedgerOutcome } from '../ledger/events.ts'
import { ledgerInTransaction, type PostingLedger } from '../ledger/in-transaction.ts'
import { SUSPENSE } from '../ledger/postings.ts'
import { type Decision, reverseCall } from '../ledger/reverse.ts'
import { json, type Micros, micros, priceTag } from '../money.ts'
import { refundSale } from '../payments/receiving/refund-sale.ts'
import { findOwners } from './journal.ts'
import { isNewEntry, withFaults } from './posting-faults.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/**
 * Refunds a charged call once, in full or in part, or proposes it: see `submitAct`. What was paid
 * with credits returns to them, what was paid per request by x402 becomes credits of the wallet.
 * @param refunded @defaultValue the amount charged
 * @throws Fault `not_found`, `already_refunded`, `not_booked`, `own_account`
 */
export const refundCall = (
  deps: FinanceDeps,
  by: Staff,
  call: string,
  reason: string,
  refunded?: Micros,
): Promise<SubmittedAct> =>
  withActContext(deps, by, reason, async (context) => {
    const { payer, payee, charged, wallet, principal } = await findRefundable(context.client, call)
    const amount = refunded ?? charged
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'refund',
      subject: call,
      terms: {
        call,
        amount: String(amount),
        asset: 'USDC',
        ...(wallet !== null && { wallet }),
        ...(principal !== null && { payer: principal }),
      },
      accounts: [payer, payee],
      principals: principal === null ? [] : [principal],
      exposure: amount,
    } as const
    return submitAct(context, order, executeRefund(deps, order.terms))
  })

/** Execution of a refund. */
export const executeRefund =
  ({ ledger }: Pick<FinanceDeps, 'ledger'>, terms: ActTerms): Execution =>
  async (client, decision) => {
    const call = String(terms['call'])
    const refunded = micros(BigInt(String(terms['amount'])))
    const charge = await findRefundable(client, call)
    const { charged, wallet } = charge
    const poster = ledgerInTransaction(ledger, client)
    const outcome = await withFaults(() => refund(client, poster, charge, decision, refunded))
    if (outcome !== 'applied') await findRefundable(client, call) // refunded meanwhile: throws
    if (!isNewEntry(outcome)) return undefined
    const after = { refunded, ...(wallet !== null && { wallet }) }
    return { act: 'call.refund', subject: call, before: { charged }, after }
  }

async function refund(
  client: ClientBase,
  ledger: PostingLedger,
  { id, payer, wallet }: Charge,
  decision: Decision,
  amount: Micros,
): Promise<LedgerOutcome> {
  if (wallet !== null) return refundSale(client, ledger, id, decision, amount)
  return reverseCall(
    client,
    ledger,
    { call: id, owner: await ledger.account(payer) },
    decision,
    amount,
  )
}

/** Charge of a call that was not refunded. */
interface Charge {
  /** Id of its entries: the call, or the x402 payment. */
  readonly id: string
  /** Account that paid; suspense if a wallet did. */
  readonly payer: string
  readonly payee: string
  readonly charged: Micros
  /** Wallet that paid per request; null if credits did. */
  readonly wallet: string | null
  /** Principal of that wallet, if it has one. */
  readonly principal: string | null
}

interface Refund {
  readonly refunded: bigint
  readonly at: Date
  readonly author: string | null
}

/**
 * Finds a charged call that was not refunded, by its id or that of its x402 payment. Kinds: 2
 * settled, 18 sold; 20 external.refunded, 29 and 43 reversed, which have the id of the charge.
 * @throws Fault `not_found`, `already_refunded`
 */
async function findRefundable(client: ClientBase, call: string): Promise<Charge> {
  const { rows: paid } = await client.query<{ entry: string }>(
    `SELECT entry FROM hub.call WHERE id = $1 AND source = 'x402' AND entry IS NOT NULL`,
    [call],
  )
  const id = paid[0]?.entry ?? call
  const owners = await findOwners(client, id)
  const { rows } = await client.query<Charge>(
    `WITH j AS MATERIALIZED (SELECT j.id, j.owner, j.payee, j.amount, j.kind
       FROM ledger.journal j WHERE j.owner = ANY ($1) AND j.id = $2
         AND (j.phase = 2 AND j.kind = 2 AND j.asset = 1 OR j.phase = 0 AND j.kind = 18))
     SELECT j.id, a.code AS payer, p.code AS payee, j.amount AS charged, NULL AS wallet,
       NULL AS principal
     FROM j JOIN ledger.account a ON a.id = j.owner JOIN ledger.account p ON p.id = j.payee
     WHERE j.kind = 2
     UNION ALL
     SELECT j.id, $3, p.code, c.amount, c.payer,
       (SELECT w.id FROM hub.principal w WHERE w.wallet_address = c.payer)
     FROM j JOIN ledger.account p ON p.id = j.owner JOIN hub.payment_claim c ON c.id = j.id
     WHERE j.kind = 18`,
    [owners, id, SUSPENSE],
  )
  const [charge] = rows
  if (!charge) throw new Fault('not_found', 'No charged call has this id.')
  const { rows: refunds } = await client.query<Refund>(
    `SELECT j.at, j.meta ->> 'author' AS author,
       (SELECT sum(u) FROM unnest(j.amounts) u WHERE u > 0)::bigint AS refunded
     FROM ledger.journal j WHERE j.owner = ANY ($1) AND j.id = $2 AND j.kind IN (20, 29, 43)
     UNION ALL
     SELECT d.at, 'resolve-payments', d.amount FROM hub.wallet_deposit d
     WHERE d.id = $2 AND d.refund_at IS NULL`,
    [owners, id],
  )
  if (refunds[0]) throw alreadyRefunded(refunds[0], charge.charged)
  return charge
}

/** Fault that states how much was refunded, when and by whom. */
const alreadyRefunded = ({ refunded, at, author }: Refund, charged: bigint): Fault =>
  new Fault(
    'already_refunded',
    `${priceTag(refunded)} of ${priceTag(charged)} was refunded at ${at.toISOString()} by ` +
      `${author ?? 'the hub, because the seller did not collect the payment'}. ` +
      'A call is refunded once. Nothing was changed.',
    { extras: { refunded_microdollars: json(refunded), refunded_at: at.toISOString() } },
  )
