import type { Pool } from 'pg'
import { UNBALANCED_ASSETS_SQL } from '../ledger/trial-balance.ts'
import type { NetworkFinality } from '../payments/networks.ts'
import { overdueThresholds } from '../payments/operations/forecast.ts'
import { OPEN_PAYMENTS_SQL } from '../payments/operations/overview.ts'

/** Days over which acts by command and refused attempts are counted. */
const RECENT_DAYS = 30

/** Work that awaits finance, as of one instant. */
export interface PendingWork {
  /** True if the balances of all accounts sum to zero for each asset. */
  readonly sound: boolean
  /** Checks that failed in the last verifications of new entries and of all. */
  readonly failures: readonly string[]
  /** Unresolved differences between chain and ledger. */
  readonly exceptions: bigint
  /** Incoming payments and payments to sellers that are not final. */
  readonly payments: bigint
  /** Payments that should be final by now. */
  readonly overdue: bigint
  /** Payouts that were started and are not final. */
  readonly payouts: bigint
  /** Acts that await a second person. */
  readonly proposals: bigint
  /** Privileged acts by command, over the last `RECENT_DAYS`. */
  readonly commands: bigint
  /** Refused attempts of staff, over the last `RECENT_DAYS`. */
  readonly refusals: bigint
  readonly paused: boolean
}

/** One statement, so one snapshot. */
const PENDING_WORK = `
  WITH unbalanced AS MATERIALIZED (${UNBALANCED_ASSETS_SQL})
  SELECT NOT EXISTS (SELECT FROM unbalanced) AS sound,
    coalesce((SELECT failures || full_failures FROM ledger.verification), '{}') AS failures,
    (SELECT count(*) FROM hub.reconciliation_exception WHERE resolved_at IS NULL) AS exceptions,
    p.payments, p.overdue,
    (SELECT count(*) FROM hub.payout WHERE state = 'started') AS payouts,
    (SELECT count(*) FROM hub.staff_act WHERE state = 'proposed') AS proposals,
    (SELECT count(*) FROM hub.audit WHERE role = 'operator'
      AND at > clock_timestamp() - make_interval(days => $4)) AS commands,
    (SELECT count(*) FROM hub.audit WHERE act = 'act.refuse'
      AND at > clock_timestamp() - make_interval(days => $4)) AS refusals,
    (SELECT paused FROM hub.outgoing_state) AS paused
  FROM (SELECT count(*) AS payments,
      count(*) FILTER (WHERE clock_timestamp() > o.valid_before + make_interval(secs =>
        (SELECT w.ms / 1000.0
         FROM unnest($1::text[], $2::bigint[], $3::integer[]) w(network, least, ms)
         WHERE o.amount >= w.least AND coalesce(w.network, o.network) = o.network
         ORDER BY w.network, w.least DESC LIMIT 1))) AS overdue
    FROM (${OPEN_PAYMENTS_SQL}) o) p`

/** Counts the pending work, by the finality of each network. */
export async function pendingWork(
  pool: Pool,
  { finality, networks = [] }: NetworkFinality,
): Promise<PendingWork> {
  const places = [
    ...networks.map((each) => ({ network: each.asset.network, finality: each.finality })),
    { network: null, finality }, // Base, and networks that are not configured any more
  ]
  const tiers = places.flatMap(({ network, ...of }) =>
    overdueThresholds(of.finality).map(([from, ms]) => ({ network, from, ms })),
  )
  const values = [
    tiers.map(({ network }) => network),
    tiers.map(({ from }) => from),
    tiers.map(({ ms }) => ms),
    RECENT_DAYS,
  ]
  const { rows } = await pool.query<PendingWork>({
    name: 'pending-work.count',
    text: PENDING_WORK,
    values,
  })
  return rows[0]!
}
