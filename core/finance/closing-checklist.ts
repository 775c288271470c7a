import type { ClientBase, Pool } from 'pg'
import { readCut } from '../ledger/shards.ts'
import { countUnbalanced } from '../ledger/trial-balance.ts'
import { readUnverified } from '../ledger/verify/unverified.ts'
import { OPEN_PAYMENTS_SQL } from '../payments/operations/overview.ts'
import { isEthValued } from './revaluation.ts'

/** Each condition, and how to meet it. */
const ITEMS = {
  over: ['The month is over.', 'Wait until the month has ended (UTC).'],
  balanced: [
    'Debits and credits are equal for each asset.',
    'Run npm run ledger -- verify: it names what was changed.',
  ],
  verified: [
    'All entries but those of the last ten minutes are verified, and no check failed.',
    'The job verify-ledger runs each minute. If it fails, run npm run ledger -- verify.',
  ],
  exceptions: [
    'No difference between chain and ledger is unresolved, but for deposits of later months.',
    'Resolve each difference between chain and ledger under Exceptions.',
  ],
  proposals: [
    'No proposal awaits a second person.',
    'Confirm or decline each proposal under Adjustments.',
  ],
  payments: [
    'No payment or payout that began before the end of the month is unresolved.',
    'Jobs resolve open payments from the chain: see Payments.',
  ],
  revalued: [
    'The ETH for gas is valued at the end of the month.',
    'Enter the price of ETH at the end of the month under ETH and gas.',
  ],
} as const
export type ChecklistItemName = keyof typeof ITEMS
const NAMES = Object.keys(ITEMS) as ChecklistItemName[]

/** Condition for closing a month. */
export interface ChecklistItem {
  readonly name: ChecklistItemName
  readonly description: string
  /** Advice on how to meet it. */
  readonly advice: string
  /** Number of open items; zero if the condition is met. */
  readonly open: bigint
}

interface VerificationState {
  readonly failures: bigint
  /** End of the time whose entries must be verified. */
  readonly verifiedUntil: Date
}

type HubItems = Record<Exclude<ChecklistItemName, 'balanced' | 'verified' | 'revalued'>, bigint>

/** Verification runs every minute: older entries that it has not verified show that it fails. */
const CHECKLIST = `
  SELECT (e.at > clock_timestamp())::integer::bigint AS over,
    greatest(e.at, clock_timestamp() - interval '10 minutes') AS "verifiedUntil",
    coalesce((SELECT cardinality(v.failures || v.full_failures) FROM ledger.verification v), 0)
      ::bigint AS failures,
    (SELECT count(*) FROM hub.reconciliation_exception x
      LEFT JOIN (SELECT r.wallet, min(r.to_block) AS block FROM hub.reconciliation r
        WHERE r.block_time >= e.at GROUP BY r.wallet) b ON b.wallet = x.wallet
      WHERE x.resolved_at IS NULL
        AND NOT coalesce(x.kind = 'unknown_deposit' AND x.block > b.block, false)) AS exceptions,
    (SELECT count(*) FROM hub.staff_act WHERE state = 'proposed' AND kind <> 'period') AS proposals,
    (SELECT count(*) FROM (${OPEN_PAYMENTS_SQL}) o WHERE o.since < e.at)
      + (SELECT count(*) FROM hub.payout WHERE state = 'started' AND started_at < e.at) AS payments
  FROM (SELECT ($1::date + interval '1 month') AT TIME ZONE 'UTC' AS at) e`

/** Reads the conditions for closing a month. @param month `2026-11` */
export async function closingChecklist(
  client: Pool | ClientBase,
  month: string,
): Promise<readonly ChecklistItem[]> {
  const first = `${month}-01`
  const { rows } = await client.query<HubItems & VerificationState>(CHECKLIST, [first])
  const { failures: verified, verifiedUntil, ...hub } = rows[0]!
  const balanced = BigInt(await countUnbalanced(client))
  const revalued = (await isEthValued(client, month)) ? 0n : 1n
  const open = { ...hub, balanced, verified, revalued }
  for (const [shard, last] of await readCut(client, verifiedUntil)) {
    open.verified += (await readUnverified(client, shard, last)).entries
  }
  return NAMES.map((name) => {
    const [description, advice] = ITEMS[name]
    return { name, description, advice, open: open[name] }
  })
}

/** Returns how to meet conditions, as sentences. */
export const adviceFor = (names: readonly ChecklistItemName[]): string =>
  names.map((name) => ITEMS[name][1]).join(' ')

/** Returns the names of the conditions that are not met. */
export const missingItems = (items: readonly ChecklistItem[]): readonly ChecklistItemName[] =>
  items.filter(({ open }) => open !== 0n).map(({ name }) => name)
