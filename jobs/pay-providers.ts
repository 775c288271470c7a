import type { PayoutPorts } from '../core/payments/payouts/ports.ts'
import { sendPayouts } from '../core/payments/payouts/send.ts'
import { startPayouts } from '../core/payments/payouts/start.ts'
import { sumUp } from '../core/payments/payouts/statement.ts'

/** What signs and sends payouts, and from how much on there are any. */
export type Payouts = Pick<PayoutPorts, 'account' | 'settle' | 'minimum'>

/**
 * Pays providers what they are owed, each at most once on a UTC day, and learns what became of what
 * was sent. What was started is finished first, so that a run that is cut short leaves nothing
 * behind that the next one does not take up.
 */
export async function payProviders(
  ports: Omit<PayoutPorts, keyof Payouts> & { readonly payouts?: Payouts | undefined },
  stopping: AbortSignal,
): Promise<void> {
  const { payouts, ...rest } = ports
  if (!payouts) return
  const paying = { ...rest, ...payouts }
  await sendPayouts(paying, stopping)
  if ((await startPayouts(paying, stopping)) > 0) await sendPayouts(paying, stopping)
  await sumUp(ports.pool)
}
