import type { Account, LedgerEvent } from '../../../core/ledger/events.ts'
import { postings } from '../../../core/ledger/postings.ts'

/** Sums the postings of an event by account, without zero sums. */
export function changes(event: LedgerEvent): ReadonlyMap<Account, bigint> {
  const sums = new Map<Account, bigint>()
  for (const { account, amount } of postings(event)) {
    sums.set(account, (sums.get(account) ?? 0n) + amount)
  }
  for (const [account, sum] of sums) if (sum === 0n) sums.delete(account)
  return sums
}
