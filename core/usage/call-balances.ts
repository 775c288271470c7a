import type { Pool } from 'pg'
import type { ShardAccount } from '../ledger/account-balances.ts'
import { readHistory } from './history.ts'

/** Position in the history of credits: a call, and the balance before it in microdollars. */
export interface BalancePosition {
  readonly call: string
  readonly before: bigint
}

/** Maximum entries read for a page of calls: more than the calls, because others lie between. */
const ENTRIES_MAX = 500

/**
 * Reads the balance of credits after each call of a page, in the order of their start. A call that
 * did not change the credits has the balance after the entry before it.
 * @param after last call of the previous page
 */
export async function readCallBalances(
  pool: Pool,
  credits: ShardAccount,
  calls: readonly string[],
  after?: BalancePosition,
): Promise<ReadonlyMap<string, BalancePosition & { readonly balance: bigint }>> {
  const entries = await readHistory(pool, credits, {
    view: 'calls',
    limit: ENTRIES_MAX,
    after: after && [after.call, 0, 0, Number(after.before)],
  })
  const isComplete = entries.length < ENTRIES_MAX
  const known = calls.flatMap((call) => {
    const entry = entries.find(({ id }) => id <= call)
    if (!entry && !isComplete) return []
    const balance = entry?.balance ?? 0n
    const before = entry?.id === call ? balance - entry.change : balance
    return [[call, { call, before, balance }] as const]
  })
  return new Map(known)
}
