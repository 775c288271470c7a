import type { Pool } from 'pg'
import { monthStart } from '../clock.ts'
import { type CreditsPlace, readBalances } from '../ledger/account-balances.ts'
import type { Account } from '../ledger/events.ts'
import { type MonthlyQuota, quotaAccount } from './free-quota.ts'

/** Free calls or units of a service that are left in the current UTC month. */
export interface FreeCallsLeft extends MonthlyQuota {
  readonly slug: string
  readonly name: string
  readonly left: bigint
}

/** Services listed, those with free calls in use first. */
const SERVICES_MAX = 10
const PRINCIPALS_MAX = 20

interface QuotaRow {
  readonly slug: string
  readonly name: string
  readonly unit: string | null
  readonly perMonth: number
}

/**
 * Reads the monthly free calls and units that are left, summed over principals, each of which has a
 * quota of its own. Services that they called this month come first.
 */
export async function readFreeCallsLeft(
  pool: Pool,
  principals: readonly string[],
  now: Date,
): Promise<readonly FreeCallsLeft[]> {
  const payers = principals.toSorted().slice(0, PRINCIPALS_MAX)
  const { rows: quotas } = await pool.query<QuotaRow>({
    name: 'free-calls-left.quotas',
    text: `SELECT s.slug, s.name, q.unit, q.per_month AS "perMonth"
     FROM (SELECT s.*, EXISTS (SELECT FROM hub.spending p JOIN hub.endpoint e ON e.id = p.endpoint
         WHERE p.payer = ANY ($1) AND p.day >= $2 AND e.service = s.slug) AS used
       FROM hub.service s WHERE s.state = 'active'
         AND (s.free_calls_per_month > 0 OR s.free_units <> '{}')
       ORDER BY used DESC, s.slug LIMIT $3) s
     CROSS JOIN LATERAL (
       SELECT NULL AS unit, s.free_calls_per_month::float8 AS per_month
         WHERE s.free_calls_per_month > 0
       UNION ALL SELECT key, value::float8 FROM jsonb_each_text(s.free_units)) q
     ORDER BY s.used DESC, s.slug, q.unit NULLS FIRST`,
    values: [principals, monthStart(now), SERVICES_MAX],
  })
  const codesOf = ({ slug, unit }: QuotaRow) =>
    payers.map((id) => quotaAccount(id, slug, { unit: unit ?? undefined }, now))
  const balances = await readByCode(pool, quotas.flatMap(codesOf))
  return quotas.map((quota) => {
    const { slug, name, unit, perMonth } = quota
    const left = codesOf(quota).map((code) => balances.get(code) ?? BigInt(perMonth))
    return {
      slug,
      name,
      unit: unit ?? undefined,
      perMonth: perMonth * payers.length,
      left: left.reduce((sum, each) => sum + each, 0n),
    }
  })
}

/** Reads balances by account code; a quota that was not granted yet has none. */
async function readByCode(
  pool: Pool,
  codes: readonly Account[],
): Promise<ReadonlyMap<Account, bigint>> {
  const { rows } = await pool.query<CreditsPlace & { code: Account }>(
    `SELECT id AS credits, coalesce(home, 0) AS shard, code FROM ledger.account
     WHERE code = ANY ($1)`,
    [codes],
  )
  const balances = await readBalances(pool, rows)
  return new Map(rows.map(({ credits, code }) => [code, balances.get(credits) ?? 0n]))
}
