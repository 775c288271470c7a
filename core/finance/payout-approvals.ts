import type { Pool } from 'pg'
import { withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { earningsPrefix } from '../ledger/postings.ts'
import type { PayoutDeps } from '../payments/payouts/payout.ts'
import { OWED_SQL, rulesSql, ruleValues, type WaitingRule } from '../payments/payouts/rules.ts'
import { assertNotOwn, type Staff } from './staff-acts.ts'

type PayoutTerms = Pick<PayoutDeps, 'minimum' | 'rules'>

/** Payout that is due and waits by a rule. Amounts in microdollars. */
export interface WaitingPayout {
  readonly provider: string
  /** Email address or wallet of the owner. */
  readonly owner: string
  readonly address: string
  readonly owed: bigint
  /** Amount of the next payout: what is owed, within the maximum of a day. */
  readonly amount: bigint
  readonly rule: WaitingRule
  /** End of the wait; null: it waits for a person. */
  readonly until: Date | null
}

/** Maximum of listed payouts, those of the largest amounts. */
const LIST_MAX = 500

const WAITING_SQL = `
  SELECT due.provider, due.owner, due.address, due.owed, due.amount, w.rule, w.until
  FROM (SELECT p.id AS provider, coalesce(h.email, o.wallet_address) AS owner, d.address, t.owed,
      hub.payout_amount(p.id, d.address, t.owed, ${rulesSql(3)}) AS amount
    FROM hub.provider p JOIN hub.payout_destination d ON d.provider = p.id
    JOIN hub.principal o ON o.id = p.owner LEFT JOIN hub.person h ON h.principal = o.id
    CROSS JOIN LATERAL (SELECT ${OWED_SQL} AS owed) t
    WHERE d.address IS NOT NULL AND d.next IS NULL AND p.suspended_at IS NULL
      AND t.owed > 0 AND t.owed >= $1 AND ($2::text IS NULL OR p.id = $2)
      AND NOT EXISTS (SELECT FROM hub.payout k WHERE k.provider = p.id AND (k.state = 'started'
        OR k.state <> 'failed' AND k.batch = (clock_timestamp() AT TIME ZONE 'UTC')::date))
    ORDER BY t.owed DESC, p.id LIMIT ${LIST_MAX}) due
  CROSS JOIN LATERAL hub.payout_wait(due.provider, due.address, due.amount, ${rulesSql(3)}) w
  ORDER BY w.rule <> 'approval', due.amount DESC, due.provider`

/** Lists payouts that wait by a rule; those that need an approval come first. */
export async function listWaitingPayouts(
  pool: Pick<Pool, 'query'>,
  { minimum, rules }: PayoutTerms,
  provider?: string,
): Promise<readonly WaitingPayout[]> {
  const values = [minimum, provider ?? null, ...ruleValues(rules)]
  const read = { name: 'payouts.waiting', text: WAITING_SQL, values }
  return (await pool.query<WaitingPayout>(read)).rows
}

/** Payout that a person approves, as they saw it. */
export interface ApprovedPayout {
  readonly provider: string
  /** Lower case. */
  readonly address: string
  /** Maximum amount, in microdollars. */
  readonly amount: bigint
}

/**
 * Approves the next payout of a provider up to an amount and to one address, for seven days.
 * @throws Fault `not_found` if no payout to this address waits for approval, `own_account`
 */
export const approvePayout = (
  { pool, ...terms }: PayoutTerms & { readonly pool: Pool },
  by: Staff,
  { provider, address, amount }: ApprovedPayout,
  reason: string,
): Promise<void> =>
  withAudit(pool, by, reason, async (client, note) => {
    const [waiting] = await listWaitingPayouts(client, terms, provider)
    if (waiting?.rule !== 'approval' || waiting.address !== address) {
      throw new Fault('not_found', 'No payout to this address waits for approval.')
    }
    await assertNotOwn(client, by.principal, { accounts: [earningsPrefix(provider)] })
    await client.query(
      `INSERT INTO hub.payout_approval (provider, payee, amount, approved_by, approver, reason)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [provider, address, amount, by.name, by.principal, reason],
    )
    note({ act: 'payout.approve', subject: provider, after: { address, amount } })
  })
