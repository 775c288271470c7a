/** Rules under which payouts start. Amounts in microdollars. The database enforces them. */
export interface PayoutRules {
  /** Maximum per UTC day to one provider. The rest is paid on the following days. */
  readonly providerCap: bigint
  /** Maximum per UTC day to all providers. */
  readonly platformCap: bigint
  /** Largest payout that needs no approval by finance. */
  readonly alone: bigint
  /** Wait before the first payout to an owner, from when it becomes due. */
  readonly firstHours: number
  /** Wait after a manual credit to the provider. */
  readonly creditHours: number
}

/** Rule by which a payout waits. */
export type WaitingRule = 'first_payout' | 'manual_credit' | 'approval' | CapRule
type CapRule = 'provider_cap' | 'platform_cap'

/** SQLSTATE of a payout that the rules refuse. */
export const PAYOUT_WAITS = 'AH013'

/** SQL of the rules as `hub.payout_rules`. @param first number of its first parameter */
export const rulesSql = (first: number): string =>
  `ROW($${first}::bigint, $${first + 1}::bigint, $${first + 2}::bigint, $${first + 3}::integer,
    $${first + 4}::integer)::hub.payout_rules`

/** Values of the parameters of `rulesSql`. */
export const ruleValues = (rules: PayoutRules): readonly (bigint | number)[] => [
  rules.providerCap,
  rules.platformCap,
  rules.alone,
  rules.firstHours,
  rules.creditHours,
]

/** SQL of what provider `p` is owed. */
export const OWED_SQL = '(SELECT coalesce(sum(e.owed), 0)::bigint FROM ledger.earnings_of(p.id) e)'
