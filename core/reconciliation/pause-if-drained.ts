import type { ClientBase } from 'pg'
import { OutgoingSwitch } from '../payments/operations/outgoing-switch.ts'
import type { ReconciliationException } from './exceptions.ts'
import type { ExceptionKind } from './types.ts'

/**
 * Pauses outgoing payments, in the transaction that stores the exceptions, if money left the spend
 * wallet that neither an entry nor an open payment explains. Pauses once per exception: the person
 * who resumes payments has seen the earlier ones.
 * @returns the exceptions that are the reason
 */
export async function pauseIfDrained(
  client: ClientBase,
  exceptions: readonly ReconciliationException[],
): Promise<readonly ReconciliationException[]> {
  const { rows } = await client.query<{ at: Date | null }>(
    'SELECT max(at) AS at FROM hub.outgoing_switch',
  )
  const since = rows[0]?.at ?? new Date(0)
  const drains = exceptions.filter((each) => isDrain(each) && each.foundAt > since)
  if (drains.length === 0) return []
  await new OutgoingSwitch(client).set(true, 'reconciliation', describeDrains(drains))
  return drains
}

export const describeDrains = (drains: readonly ReconciliationException[]): string =>
  drains.map(({ id, reason }) => `Exception ${id}: ${reason}`).join(' ')

const isDrain = ({ kind, amount }: ReconciliationException): boolean =>
  amount < 0n && DRAIN_KINDS.has(kind)

const DRAIN_KINDS: ReadonlySet<ExceptionKind> = new Set([
  'unknown_withdrawal',
  'amount_differs',
  'balance_differs',
])
