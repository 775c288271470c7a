import type { Pool } from 'pg'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { type DebtOrigin, listDebts } from './debts.ts'
import type { PayoutDeps } from './payout.ts'
import { OWED_SQL, rulesSql, ruleValues, type WaitingRule } from './rules.ts'

/** Condition of the next payout. `pause`: of all payments. `run`: it starts within a minute. */
export type PayoutBlocker =
  | 'suspension'
  | 'payout'
  | 'address'
  | 'address_change'
  | 'minimum'
  | 'tomorrow'
  | WaitingRule
  | 'pause'
  | 'run'

/** Money of a provider at the hub, in microdollars. */
export interface ProviderBalance {
  readonly provider: string
  /** Earned and not paid out. */
  readonly owed: bigint
  /** Amount of a payout that is not final yet. */
  readonly pending: bigint
  /** Refunds of calls that were paid out already: deducted from later earnings. */
  readonly debts: readonly DebtOrigin[]
  /** Sum of all final payouts. */
  readonly paid: bigint
  readonly waitsFor: PayoutBlocker
  /** End of the wait; null if it ends by an event, or nothing waits. */
  readonly waitsUntil: Date | null
  /** Amount owed by service, without services at zero. */
  readonly services: readonly { readonly service: string; readonly owed: bigint }[]
}

/** Conditions that `startPayouts` checks before it pays a provider. */
interface PayoutConditions {
  readonly owed: bigint
  readonly pending: bigint
  readonly address: string | null
  /** A changed address that is not active yet. */
  readonly next: string | null
  readonly nextAt: Date | null
  readonly suspended: boolean
  readonly paidToday: boolean
  readonly tomorrow: Date
  /** Rule by which the payout waits. */
  readonly rule: WaitingRule | null
  /** End of the wait by `rule`. */
  readonly until: Date | null
  /** True if all outgoing payments of the hub are paused. */
  readonly paused: boolean
}

/** Returns the first unmet condition; those that the provider cannot influence come first. */
function findBlocker(
  standing: PayoutConditions,
  minimum: bigint,
): readonly [PayoutBlocker, until?: Date | null] {
  const { owed, pending, address, next, suspended, paidToday, rule, paused } = standing
  if (suspended) return ['suspension']
  if (address === null) return ['address']
  if (next !== null) return ['address_change', standing.nextAt]
  if (pending > 0n) return ['payout']
  if (owed < minimum || owed <= 0n) return ['minimum']
  if (paidToday) return ['tomorrow', standing.tomorrow]
  if (rule !== null) return [rule, standing.until]
  return paused ? ['pause'] : ['run']
}

const CONDITIONS_SQL = `SELECT p.id AS provider, d.address, d.next, d.next_at AS "nextAt",
    p.suspended_at IS NOT NULL AS suspended, o.*, w.rule, w.until,
    date_trunc('day', clock_timestamp(), 'UTC') + interval '1 day' AS tomorrow,
    coalesce((SELECT paused FROM hub.outgoing_state), false) AS paused
  FROM hub.provider p JOIN hub.payout_destination d ON d.provider = p.id
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(amount) FILTER (WHERE state = 'started'), 0)::bigint AS pending,
      coalesce(sum(amount) FILTER (WHERE state = 'confirmed'), 0)::bigint AS paid,
      coalesce(bool_or(state <> 'failed' AND batch = (clock_timestamp() AT TIME ZONE 'UTC')::date),
        false) AS "paidToday"
    FROM hub.payout WHERE provider = p.id
  ) o
  LEFT JOIN LATERAL hub.payout_wait(p.id, d.address, hub.payout_amount(p.id, d.address,
    ${OWED_SQL}, ${rulesSql(2)}), ${rulesSql(2)}) w ON true
  WHERE p.owner = ANY ($1) ORDER BY p.id`

const OWED_BY_SERVICE_SQL = `SELECT p.id AS provider, e.service, e.owed
  FROM hub.provider p CROSS JOIN LATERAL ledger.earnings_of(p.id) e
  WHERE p.owner = ANY ($1) AND e.owed <> 0 ORDER BY 3 DESC, 2`

type ConditionsRow = Omit<PayoutConditions, 'owed'> & Pick<ProviderBalance, 'provider' | 'paid'>

/** Reads the balances of an owner's providers and what their next payouts wait for. */
export async function readProviderBalances(
  pool: Pool,
  owner: KeyManager,
  { minimum, rules }: Pick<PayoutDeps, 'minimum' | 'rules'>,
): Promise<readonly ProviderBalance[]> {
  const [standings, owed] = await Promise.all([
    pool.query<ConditionsRow>({
      name: 'provider-balances.conditions',
      text: CONDITIONS_SQL,
      values: [owner, ...ruleValues(rules)],
    }),
    pool.query<{ provider: string; service: string; owed: bigint }>({
      name: 'provider-balances.owed',
      text: OWED_BY_SERVICE_SQL,
      values: [owner],
    }),
  ])
  const debts = await listDebts(
    pool,
    standings.rows.map(({ provider }) => provider),
  )
  return standings.rows.map((row) => {
    const { provider, pending, paid } = row
    const services = owed.rows.filter((each) => each.provider === provider)
    const sum = services.reduce((total, each) => total + each.owed, 0n)
    const [waitsFor, waitsUntil = null] = findBlocker({ ...row, owed: sum }, minimum)
    const owing = debts.filter((each) => each.provider === provider)
    return { provider, owed: sum, debts: owing, pending, paid, waitsFor, waitsUntil, services }
  })
}
