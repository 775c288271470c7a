import type { PayoutDeps } from '../core/payments/payouts/payout.ts'
import { sendPayouts } from '../core/payments/payouts/send.ts'
import { startPayouts } from '../core/payments/payouts/start.ts'
import { sumPayoutParts } from '../core/payments/payouts/statement.ts'

/** What signs and sends payouts, and from how much on there are any. */
export type PayoutSettings = Pick<PayoutDeps, 'account' | 'settle' | 'minimum'>

/**
 * Pays providers what they are owed, each at most once on a UTC day, and learns what became of what
 * was sent. What was started is finished first, so that a run that is cut short leaves nothing
 * behind that the next one does not take up.
 */
export async function payProviders(
  ports: Omit<PayoutDeps, keyof PayoutSettings> & {
    readonly payouts?: PayoutSettings | undefined
  },
  stopping: AbortSignal,
): Promise<void> {
  const { payouts, ...rest } = ports
  if (!payouts) return
  const paying = { ...rest, ...payouts }
  await sendPayouts(paying, stopping)
  if ((await startPayouts(paying, stopping)) > 0) await sendPayouts(paying, stopping)
  await sumPayoutParts(ports.pool)
}
