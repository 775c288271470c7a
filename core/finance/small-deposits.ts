import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { ledgerInTransaction } from '../ledger/in-transaction.ts'
import { NotResolvable } from '../reconciliation/resolve.ts'
import { findSmallDeposits, resolveSmallDeposits } from '../reconciliation/small-deposits.ts'
import type { WalletName } from '../reconciliation/types.ts'
import { WALLET_NAMES } from '../reconciliation/wallets.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/** Decision in the terms of an act that resolves small deposits. */
export const SMALL_DEPOSITS = 'small-deposits'

/** State of the act, and how many deposits it resolves. */
export type SubmittedDeposits = SubmittedAct & { readonly deposits: number }

/**
 * Posts the oldest small deposits of a wallet to suspense by one entry, or proposes it: see
 * `submitAct`. Their sum counts against the daily limit.
 * @throws Fault `not_found` if there are none, `not_resolvable`
 */
export const submitSmallDeposits = (
  deps: FinanceDeps,
  by: Staff,
  wallet: WalletName,
  reason: string,
): Promise<SubmittedDeposits> =>
  withActContext(deps, by, reason, async (context) => {
    const deposits = await findSmallDeposits(context.client, wallet)
    if (deposits.length === 0) throw new Fault('not_found', 'No small deposit is unresolved.')
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'exception',
      subject: `small deposits of ${wallet}`,
      terms: { decision: SMALL_DEPOSITS, wallet, exceptions: deposits.map(({ id }) => String(id)) },
      accounts: [],
      exposure: deposits.reduce((sum, { amount }) => sum + amount, 0n),
    } as const
    const act = await submitAct(context, order, executeSmallDeposits(deps, order.terms))
    return { ...act, deposits: deposits.length }
  })

/** Execution of a resolution of small deposits. */
export const executeSmallDeposits =
  ({ ledger }: Pick<FinanceDeps, 'ledger'>, terms: ActTerms): Execution =>
  async (client, decision) => {
    const wallet = WALLET_NAMES.find((name) => name === terms['wallet'])!
    const ids = Array.isArray(terms['exceptions']) ? terms['exceptions'].map(BigInt) : []
    const deps = { client, ledger: ledgerInTransaction(ledger, client) }
    const deposits = await resolveSmallDeposits(deps, wallet, ids, decision).catch((error) => {
      if (!(error instanceof NotResolvable)) throw error
      throw new Fault('not_resolvable', error.message, { cause: error })
    })
    if (deposits.length === 0) return undefined
    const amount = deposits.reduce((sum, each) => sum + each.amount, 0n)
    return {
      act: 'exception.resolve',
      subject: `small deposits of ${wallet}`,
      after: { wallet, amount, exceptions: deposits.map(({ id }) => String(id)) },
    }
  }
