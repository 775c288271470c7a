import type { Pool } from 'pg'
import { monthStart } from '../clock.ts'
import { readBalances } from '../ledger/account-balances.ts'
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
 * Reads what is left of the monthly free calls and units of services, over all principals, each of
 * which has a quota of its own: of the services that they called this month, then of others.
 */
export async function readFreeCallsLeft(
  pool: Pool,
  principals: readonly string[],
  now: Date,
): Promise<readonly FreeCallsLeft[]> {
  const { rows: shards } = await pool.query<{ id: string; shard: number }>(
    'SELECT id, shard FROM hub.principal WHERE id = ANY ($1) ORDER BY id LIMIT $2',
    [principals, PRINCIPALS_MAX],
  )
  const { rows: quotas } = await pool.query<QuotaRow>(
    `SELECT s.slug, s.name, q.unit, q.per_month AS "perMonth"
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
    [principals, monthStart(now), SERVICES_MAX],
  )
  const codesOf = ({ slug, unit }: QuotaRow) =>
    shards.map(({ id }) => quotaAccount(id, slug, { unit: unit ?? undefined }, now))
  const balances = await readByCode(pool, quotas.flatMap(codesOf), shards)
  return quotas.map((quota) => {
    const { slug, name, unit, perMonth } = quota
    const left = codesOf(quota).map((code) => balances.get(code) ?? BigInt(perMonth))
    return {
      slug,
      name,
      unit: unit ?? undefined,
      perMonth: perMonth * shards.length,
      left: left.reduce((sum, each) => sum + each, 0n),
    }
  })
}

/** Reads balances by account code; a quota that was not granted yet has none. */
async function readByCode(
  pool: Pool,
  codes: readonly Account[],
  principals: readonly { readonly id: string; readonly shard: number }[],
): Promise<ReadonlyMap<Account, bigint>> {
  const { rows } = await pool.query<{ id: bigint; code: Account }>(
    'SELECT id, code FROM ledger.account WHERE code = ANY ($1)',
    [codes],
  )
  const shards = new Map(principals.map(({ id, shard }) => [id, shard]))
  const places = rows.map(({ id, code }) => {
    const [, , principal = ''] = code.split(':')
    return { credits: id, shard: shards.get(principal) ?? 0 }
  })
  const balances = await readBalances(pool, places)
  return new Map(rows.map(({ id, code }) => [code, balances.get(id) ?? 0n]))
}
