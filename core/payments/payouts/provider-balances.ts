import type { Pool } from 'pg'
import type { KeyManager } from '../../identity/sub-keys.ts'

/**
 * What a provider's next payout waits for. `pause`: finance has paused all payments. `run`: it is
 * started within a minute.
 */
export type PayoutBlocker =
  | 'suspension'
  | 'payout'
  | 'address'
  | 'address_change'
  | 'minimum'
  | 'tomorrow'
  | 'pause'
  | 'run'

/** Where the money of a provider is. Amounts in microdollars. */
export interface ProviderBalance {
  readonly provider: string
  /** Earned, and not paid out. */
  readonly owed: bigint
  /** Of a payout that is not final yet. */
  readonly pending: bigint
  /** Of all payouts that are final. */
  readonly paid: bigint
  readonly waitsFor: PayoutBlocker
  /** What is owed, by service: those of which something is. */
  readonly services: readonly { readonly service: string; readonly owed: bigint }[]
}

/** What `startPayouts` looks at before it pays somebody. */
interface PayoutConditions {
  readonly owed: bigint
  readonly pending: bigint
  readonly address: string | null
  /** An address that waits to count. */
  readonly next: string | null
  readonly suspended: boolean
  readonly paidToday: boolean
  /** All payments of the hub are. */
  readonly paused: boolean
}

/** What has to happen first, before who is paid can do anything about the rest. */
function findBlocker(standing: PayoutConditions, minimum: bigint): PayoutBlocker {
  const { owed, pending, address, next, suspended, paidToday, paused } = standing
  if (suspended) return 'suspension'
  if (address === null) return 'address'
  if (next !== null) return 'address_change'
  if (pending > 0n) return 'payout'
  if (owed < minimum || owed <= 0n) return 'minimum'
  if (paidToday) return 'tomorrow'
  return paused ? 'pause' : 'run'
}

const CONDITIONS_SQL = `SELECT p.id AS provider, d.address, d.next,
    p.suspended_at IS NOT NULL AS suspended, o.*,
    coalesce((SELECT paused FROM hub.outgoing_state), false) AS paused
  FROM hub.provider p JOIN hub.payout_destination d ON d.provider = p.id
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(amount) FILTER (WHERE state = 'started'), 0)::bigint AS pending,
      coalesce(sum(amount) FILTER (WHERE state = 'confirmed'), 0)::bigint AS paid,
      coalesce(bool_or(state <> 'failed' AND batch = (clock_timestamp() AT TIME ZONE 'UTC')::date),
        false) AS "paidToday"
    FROM hub.payout WHERE provider = p.id
  ) o WHERE p.owner = ANY ($1) ORDER BY p.id`

const OWED_SQL = `SELECT p.id AS provider, split_part(a.code, ':', 4) AS service,
    sum(b.balance)::bigint AS owed
  FROM hub.provider p JOIN ledger.account a
    ON a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = p.id
  JOIN ledger.balance b ON b.account = a.id
  WHERE p.owner = ANY ($1) GROUP BY 1, 2 HAVING sum(b.balance) <> 0 ORDER BY 3 DESC, 2`

type ConditionsRow = Omit<PayoutConditions, 'owed'> & {
  readonly provider: string
  readonly paid: bigint
}
interface OwedRow {
  readonly provider: string
  readonly service: string
  readonly owed: bigint
}

/** What each provider of an owner has at the hub, and what its next payout waits for. */
export async function readProviderBalances(
  pool: Pool,
  owner: KeyManager,
  minimum: bigint,
): Promise<readonly ProviderBalance[]> {
  const [standings, owed] = await Promise.all([
    pool.query<ConditionsRow>(CONDITIONS_SQL, [owner]),
    pool.query<OwedRow>(OWED_SQL, [owner]),
  ])
  return standings.rows.map((row) => {
    const { provider, pending, paid } = row
    const services = owed.rows.filter((each) => each.provider === provider)
    const sum = services.reduce((total, each) => total + each.owed, 0n)
    const waitsFor = findBlocker({ ...row, owed: sum }, minimum)
    return { provider, owed: sum, pending, paid, waitsFor, services }
  })
}
