import type { PoolClient } from 'pg'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { earningsPrefix, RECEIVABLE } from '../ledger/postings.ts'
import { micros, priceTag } from '../money.ts'
import { readDebt } from '../payments/payouts/debts.ts'
import {
  lockEarnings,
  payoutLedger,
  recoverDebt,
  sumAmounts,
  takeUpTo,
} from '../payments/payouts/payout-entries.ts'
import { isNewEntry, withFaults } from './posting-faults.ts'
import {
  type ActOrder,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

type ActDetails = Pick<ActOrder, 'id' | 'subject' | 'terms'>

/**
 * Proposes to write off what a provider owes, as uncollectible. A second person must confirm it.
 * @param amount @defaultValue all of the debt
 * @throws Fault `not_booked`, `own_account`
 */
export const writeOffDebt = (
  deps: FinanceDeps,
  by: Staff,
  provider: string,
  reason: string,
  amount?: bigint,
): Promise<SubmittedAct> =>
  submitForDebtor(deps, by, 'write-off', { provider, reason, amount }, executeWriteOff)

/**
 * Deducts the debt of a provider from its earnings, without waiting for its next payout.
 * @throws Fault `not_booked`, `own_account`
 */
export const recoverFromEarnings = (
  deps: FinanceDeps,
  by: Staff,
  provider: string,
  reason: string,
): Promise<SubmittedAct> =>
  submitForDebtor(deps, by, 'recovery', { provider, reason }, executeRecovery)

const submitForDebtor = (
  deps: FinanceDeps,
  by: Staff,
  kind: 'write-off' | 'recovery',
  order: {
    readonly provider: string
    readonly reason: string
    readonly amount?: bigint | undefined
  },
  executionOf: (deps: FinanceDeps, act: ActDetails) => Execution,
): Promise<SubmittedAct> =>
  withActContext(deps, by, order.reason, async (context) => {
    const { provider } = order
    const debt = await lockDebt(context.client, provider)
    const exposure = order.amount ?? debt
    const act = {
      id: uuidv7(deps.clock.now().getTime()),
      kind,
      subject: provider,
      terms: { provider, amount: String(exposure), asset: 'USDC' },
      accounts: [earningsPrefix(provider), RECEIVABLE],
      exposure,
    } as const
    return submitAct(context, act, executionOf(deps, act))
  })

/** Locks the provider and returns its debt. @throws Fault `not_booked` without one */
async function lockDebt(client: PoolClient, provider: string): Promise<bigint> {
  await client.query('SELECT FROM hub.provider WHERE id = $1 FOR NO KEY UPDATE', [provider])
  const debt = await readDebt(client, provider)
  if (debt === 0n) throw new Fault('not_booked', `Provider ${provider} owes nothing.`)
  return debt
}

/** Execution of a write-off, as one entry with the id of the act. */
export const executeWriteOff =
  ({ ledger }: Pick<FinanceDeps, 'ledger'>, { id, subject, terms }: ActDetails): Execution =>
  async (client, decision) => {
    const debt = await lockDebt(client, subject)
    const amount = micros(BigInt(String(terms['amount'])))
    if (amount > debt) {
      throw new Fault('not_booked', `Provider ${subject} owes only ${priceTag(debt)}.`)
    }
    const poster = ledgerInTransaction(ledger, client)
    const owner = await poster.account(RECEIVABLE)
    const entry = { owner, id, meta: { ...decision, provider: subject } }
    const outcome = await withFaults(() =>
      poster.post({ type: 'receivable.written-off', amount }, entry),
    )
    if (!isNewEntry(outcome)) return undefined
    return { act: 'debt.cancel', subject, before: { debt }, after: { debt: debt - amount } }
  }

/** Execution of a recovery of the ordered amount, up to the debt and the earnings. */
export const executeRecovery =
  (deps: Pick<FinanceDeps, 'ledger' | 'clock'>, { subject, terms }: ActDetails): Execution =>
  async (client, decision) => {
    const debt = await lockDebt(client, subject)
    const ordered = BigInt(String(terms['amount']))
    const earned = takeUpTo(await lockEarnings(client, subject), ordered)
    if (earned.length === 0) {
      throw new Fault('not_booked', `Provider ${subject} has no earnings to deduct the debt from.`)
    }
    const left = await recoverDebt(client, payoutLedger(deps, client), subject, earned, decision)
    const recovered = sumAmounts(earned) - sumAmounts(left)
    return { act: 'debt.recover', subject, before: { debt }, after: { debt: debt - recovered } }
  }
