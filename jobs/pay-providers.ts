import type { PayoutDeps } from '../core/payments/payouts/payout.ts'
import { sendPayouts } from '../core/payments/payouts/send.ts'
import { startPayouts } from '../core/payments/payouts/start.ts'
import { sumPayoutParts } from '../core/payments/payouts/statement.ts'

/** Signer, settlement, minimum amount and rules of payouts. */
export type PayoutSettings = Pick<PayoutDeps, 'account' | 'settle' | 'minimum' | 'rules'> & {
  /** Connections that may post entries. @defaultValue those of other jobs */
  readonly pool?: PayoutDeps['pool']
}

/**
 * Pays providers the balances they are owed, each at most once per UTC day, and resolves sent
 * payouts. Finishes started payouts first, so that the next run completes an interrupted one.
 */
export async function payProviders(
  deps: Omit<PayoutDeps, Exclude<keyof PayoutSettings, 'pool'>> & {
    readonly payouts?: PayoutSettings | undefined
  },
  stopping: AbortSignal,
): Promise<void> {
  const { payouts, ...rest } = deps
  if (!payouts) return
  const payoutDeps = { ...rest, ...payouts }
  await sendPayouts(payoutDeps, stopping)
  if ((await startPayouts(payoutDeps, stopping)) > 0) await sendPayouts(payoutDeps, stopping)
  await sumPayoutParts(deps.pool)
}
