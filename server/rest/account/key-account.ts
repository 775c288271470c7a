import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { type Clock, dayName, dayStart, monthName } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { json } from '../../../core/money.ts'
import { type AccountStatus, allowancesOf } from '../../../core/usage/account-status.ts'
import { REQUESTS_PER_MINUTE } from '../../../core/usage/rate-limit.ts'

const amount = z.int().min(0).meta({ description: 'Microdollars: 1,000,000 = 1 USD.' })
const limit = z.int().nullable()
const SpendingView = z.object({ calls: z.int(), free_calls: z.int(), charged_microdollars: amount })

/** Credits of a key, as every entry point shows them. */
export const BALANCE = {
  balance_microdollars: amount.meta({
    description: 'Credits that the key may spend: for a sub-key, at most what its limits leave.',
  }),
  reserved_microdollars: amount.nullable().meta({
    description: 'Reserved for calls in flight. null: a sub-key that does not see its main key.',
  }),
} as const

/** Credits, limits, free calls and spending of a key, as every entry point shows them. */
export const KeyAccount = z.object({
  key_id: z.string(),
  wallet_address: z.string().nullable(),
  ...BALANCE,
  rate_limit: z.object({ tier: z.enum(['free', 'paid', 'custom']), requests_per_minute: z.int() }),
  free_calls: z.array(
    z.object({
      service: z.string(),
      month: z.string(),
      remaining: z.int(),
      unit: z.string().optional().meta({ description: 'Free units of metered endpoints.' }),
    }),
  ),
  key_limits: z
    .object({
      max_call_microdollars: limit,
      max_day_microdollars: limit,
      day_remaining_microdollars: limit,
      day_resets_at: z.iso.datetime(),
      max_total_microdollars: limit,
      total_remaining_microdollars: limit,
      services: z.array(z.string()).nullable(),
    })
    .nullable()
    .meta({
      description: 'Limits of a sub-key with those of the keys above it. null: a main key.',
    }),
  spending: z.object({
    since: z.iso.datetime(),
    until: z.iso.date().meta({ description: 'Last UTC day of the range.' }),
    by_day: z.array(SpendingView.extend({ day: z.iso.date() })),
    by_service: z.array(SpendingView.extend({ service: z.string() })),
    by_key: z.array(SpendingView.extend({ key_id: z.string() })),
  }),
})

export interface KeyAccountDeps {
  readonly pool: Pool
  readonly accountStatus: AccountStatus
  readonly clock: Clock
}

/** Reads the account of a key, as far as the key may see it. @param range UTC days of spending */
export async function readKeyAccount(
  deps: KeyAccountDeps,
  caller: Caller,
  range: { readonly since: Date; readonly until: Date },
): Promise<z.infer<typeof KeyAccount>> {
  const { since, until } = range
  return {
    key_id: caller.keyId,
    wallet_address: caller.wallet === null ? null : getAddress(caller.wallet),
    ...(await readBalances(deps, caller)),
    rate_limit: await readRateLimit(deps, caller),
    free_calls: await readFreeCalls(deps, caller),
    key_limits: await readLimits(deps, caller),
    spending: {
      since: since.toISOString(),
      until: dayName(until),
      ...(await readSpending(deps.pool, spenderOf(caller), since, until)),
    },
  }
}

/** Reads the credits that a key may spend, and what its calls in flight reserve. */
export async function readBalances({ pool, accountStatus, clock }: KeyAccountDeps, caller: Caller) {
  const available = json(await accountStatus.spendable(caller, clock.now()))
  if (!caller.seesMainKey) return { balance_microdollars: available, reserved_microdollars: null }
  const { rows } = await pool.query<{ reserved: string }>(
    `SELECT coalesce(sum(amount), 0)::text AS reserved FROM ledger.open_hold
     WHERE shard = $2 AND owner = $1
       AND id >= ledger.first_id(now() - interval '1 day')`,
    [caller.credits.id, caller.credits.shard],
  )
  const reserved = json(BigInt(rows[0]!.reserved))
  return { balance_microdollars: available, reserved_microdollars: reserved }
}

async function readRateLimit({ accountStatus }: KeyAccountDeps, caller: Caller) {
  const { ratePerMinute: custom } = caller
  if (custom !== null) return { tier: 'custom' as const, requests_per_minute: custom }
  const tier = await accountStatus.tier(caller.credits)
  return { tier, requests_per_minute: REQUESTS_PER_MINUTE[tier] }
}

const FREE_CALLS_MAX = 100

/** Reads the remaining free calls and units, this UTC month, of services the caller may call. */
async function readFreeCalls(
  { pool, clock }: KeyAccountDeps,
  { principal, credits, limits }: Caller,
) {
  const month = monthName(clock.now())
  const { rows: used } = await pool.query<{ code: string; balance: bigint }>(
    `SELECT a.code, b.balance FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
     WHERE a.code COLLATE "C" >= 'liabilities:free-calls:' || $1 || ':'
       AND a.code COLLATE "C" < 'liabilities:free-calls:' || $1 || ';'
       AND split_part(a.code, ':', 5) = $2 AND b.shard = $3`,
    [principal, month, credits.shard],
  )
  const { rows } = await pool.query<{ service: string; unit: string | null; remaining: bigint }>(
    `SELECT s.slug AS service, q.unit, coalesce(b.balance, q.per_month) AS remaining
     FROM hub.service s
       CROSS JOIN LATERAL (
         SELECT NULL AS unit, s.free_calls_per_month::bigint AS per_month
           WHERE s.free_calls_per_month > 0
         UNION ALL
         SELECT key, value::bigint FROM jsonb_each_text(s.free_units)) q
       LEFT JOIN unnest($5::text[], $6::bigint[]) b(code, balance)
         ON b.code = 'liabilities:free-calls:' || $1 || ':' || s.slug || ':' || $2
           || coalesce(':' || q.unit, '')
     WHERE s.state = 'active' AND s.suspended_at IS NULL AND NOT s.held_back
       AND ($3::text[] IS NULL OR s.slug = ANY ($3))
     ORDER BY b.balance IS NULL, s.slug, q.unit NULLS FIRST LIMIT $4`,
    [
      principal,
      month,
      allowedServices(limits),
      FREE_CALLS_MAX,
      used.map(({ code }) => code),
      used.map(({ balance }) => balance),
    ],
  )
  return rows.map(({ service, unit, remaining }) => ({
    service,
    month,
    remaining: json(remaining),
    ...(unit !== null && { unit }),
  }))
}

/** Services that all limits allow; null: all. */
function allowedServices(limits: Caller['limits']): readonly string[] | null {
  const lists = limits.flatMap(({ services }) => (services === null ? [] : [services]))
  const [first, ...others] = lists
  return first?.filter((slug) => others.every((list) => list.includes(slug))) ?? null
}

/** Reads the limits of a sub-key: the lowest of its own and those of the keys above it. */
async function readLimits(deps: KeyAccountDeps, { credits, limits }: Caller) {
  if (limits.length === 0) return null
  const now = deps.clock.now()
  const caps = allowancesOf(limits, now)
  const { shard } = credits
  const left = caps.length === 0 ? [] : await deps.accountStatus.remainingAllowances(caps, shard)
  const remaining = (isTotal: boolean) =>
    least(left.filter((_, i) => caps[i]!.account.endsWith(':total') === isTotal))
  return {
    max_call_microdollars: least(limits.map(({ maxCall }) => maxCall)),
    max_day_microdollars: least(limits.map(({ maxDay }) => maxDay)),
    day_remaining_microdollars: remaining(false),
    day_resets_at: new Date(dayStart(now).getTime() + DAY_MS).toISOString(),
    max_total_microdollars: least(limits.map(({ maxTotal }) => maxTotal)),
    total_remaining_microdollars: remaining(true),
    services: allowedServices(limits)?.slice() ?? null,
  }
}

const DAY_MS = 86_400_000

const least = (amounts: readonly (bigint | null)[]): number | null => {
  const set = amounts.filter((each) => each !== null)
  return set.length === 0 ? null : json(set.reduce((a, b) => (a < b ? a : b)))
}

/** Key at the top of those whose spending a caller may see. */
export const spenderOf = ({ seesMainKey, keyId, credits }: Caller): string =>
  seesMainKey ? (credits.code.split(':')[2] ?? keyId) : keyId

/** Group of one day, service or key; the other two are null. */
interface SpendingRow {
  readonly day: string | null
  readonly service: string | null
  readonly key: string | null
  readonly calls: number
  readonly free: number
  readonly charged: bigint
}

/** Spending of a key and its sub-keys, by the key that called, not by the payer. */
const SPENDING_QUERY = `
  WITH RECURSIVE family AS (
    SELECT id FROM hub.api_key WHERE id = $1
    UNION ALL SELECT k.id FROM family f JOIN hub.api_key k ON k.parent = f.id
  )
  SELECT to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, c.service, c.key_id AS key,
    count(*)::integer AS calls,
    (count(*) FILTER (WHERE c.source = 'free'))::integer AS free,
    coalesce(sum(c.charged), 0)::bigint AS charged
  FROM hub.call c JOIN family f ON f.id = c.key_id
  WHERE c.at >= $2 AND c.at < $3::timestamptz + interval '1 day'
  GROUP BY GROUPING SETS ((1), (2), (3)) ORDER BY 1, 2, 3`

async function readSpending(pool: Pool, keyId: string, from: Date, to: Date) {
  const { rows } = await pool.query<SpendingRow>(SPENDING_QUERY, [keyId, from, to])
  const of = ({ calls, free, charged }: SpendingRow) => ({
    calls,
    free_calls: free,
    charged_microdollars: json(charged),
  })
  return {
    by_day: rows.flatMap((row) => (row.day === null ? [] : [{ day: row.day, ...of(row) }])),
    by_service: rows.flatMap((row) =>
      row.service === null ? [] : [{ service: row.service, ...of(row) }],
    ),
    by_key: rows.flatMap((row) => (row.key === null ? [] : [{ key_id: row.key, ...of(row) }])),
  }
}
