import type { AccountBalance, ExportPlan } from './plan.ts'
import type { ExportedAccount, ExportedEntry, ExportedSeal } from './read-entries.ts'

/** Text format of an export. The concatenated texts of all members are the file. */
export interface Format {
  start(plan: ExportPlan): string
  /** True for the ledger's own units and assets; others are accounting formats. */
  readonly isRaw?: boolean
  /** Written directly before the first entry that uses the account. */
  account?(account: ExportedAccount): string
  opening?(balances: readonly AccountBalance[], instant: string): string
  entry(entry: ExportedEntry): string
  /** Written after the last entry of a seal. */
  seal?(seal: ExportedSeal): string
  /**
   * Asserts a page of the ledger's own balances, after the whole journal.
   * @param lastDay latest value date of all entries, `2026-11-21`
   */
  closing?(balances: readonly AccountBalance[], lastDay: string): string
  end?(entries: number): string
}
