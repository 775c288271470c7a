import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { type Clock, dayName } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { json } from '../../../core/money.ts'
import { REQUESTS_PER_MINUTE, type Tier } from '../../../core/usage/rate-limit.ts'
import { dayRange, dayRangeQuery } from '../days.ts'
import { type AnyRoute, callerOf, route } from '../route.ts'
import { balances, type CreditsDeps } from './credits.ts'

const amount = z.int().min(0)
const Spending = z.object({ calls: z.int(), free_calls: z.int(), charged_microdollars: amount })

const Wallet = z.object({
  wallet_address: z.string().nullable(),
  balance_microdollars: amount,
  reserved_microdollars: amount,
  rate_limit: z.object({ tier: z.enum(['free', 'paid', 'custom']), requests_per_minute: z.int() }),
  free_calls: z.array(z.object({ service: z.string(), month: z.string(), remaining: z.int() })),
  spending: z.object({
    since: z.iso.datetime(),
    until: z.iso.date().meta({ description: 'Last UTC day of the range.' }),
    by_day: z.array(Spending.extend({ day: z.iso.date() })),
    by_service: z.array(Spending.extend({ service: z.string() })),
    by_key: z.array(Spending.extend({ key_id: z.string() })),
  }),
})

const rateLimitOf = ({ ratePerMinute }: Caller, tier: Tier) =>
  ratePerMinute === null
    ? { tier, requests_per_minute: REQUESTS_PER_MINUTE[tier] }
    : { tier: 'custom', requests_per_minute: ratePerMinute }

export const walletRoutes = (
  deps: Pick<CreditsDeps, 'pool' | 'accountStatus'> & { readonly clock: Clock },
): readonly AnyRoute[] => [
  route('GET /v1/wallet/balance', {
    summary: 'Returns credits, spending by day, service and key, free calls and the rate limit.',
    auth: 'key',
    query: dayRangeQuery,
    response: { status: 200, schema: Wallet },
    handle: async (request) => {
      const caller = callerOf(request)
      const { pool, accountStatus, clock } = deps
      const { since, until } = dayRange(request.query, clock.now())
      return {
        body: {
          wallet_address: caller.wallet === null ? null : getAddress(caller.wallet),
          ...(await balances(deps, caller)),
          rate_limit: rateLimitOf(caller, await accountStatus.tier(caller.credits)),
          free_calls: await readFreeCalls(pool, caller),
          spending: {
            since: since.toISOString(),
            until: dayName(until),
            ...(await readKeySpending(pool, caller, since, until)),
          },
        },
      }
    },
  }),
]

/** Reads this UTC month's remaining free calls of the services that the caller may call. */
export async function readFreeCalls(pool: Pool, { principal, limits }: Caller) {
  const { rows } = await pool.query<{ service: string; month: string; remaining: bigint }>(
    `SELECT split_part(a.code, ':', 4) AS service, split_part(a.code, ':', 5) AS month,
       b.balance AS remaining
     FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
     WHERE a.code LIKE 'liabilities:free-calls:' || $1 || ':%:'
       || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')
     ORDER BY 1`,
    [principal],
  )
  return rows
    .filter(({ service }) => limits.every(({ services }) => services?.includes(service) ?? true))
    .map((row) => ({ ...row, remaining: json(row.remaining) }))
}

/** Group of one day, service or key; the other two are null. */
interface SpendingRow {
  readonly day: string | null
  readonly service: string | null
  readonly key: string | null
  readonly calls: number
  readonly free: number
  readonly charged: bigint
}

/** Spending of the key and its sub-keys, by the key that called, not by the payer. */
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

/** Spending of a key and its sub-keys from one instant to the end of the day of another. */
export async function readKeySpending(pool: Pool, { keyId }: Caller, from: Date, to: Date) {
  const { rows } = await pool.query<SpendingRow>(SPENDING_QUERY, [keyId, from, to])
  const by = (name: string, field: 'day' | 'service' | 'key') =>
    rows
      .filter((row) => row[field] !== null)
      .map((row) => ({
        [name]: row[field],
        calls: row.calls,
        free_calls: row.free,
        charged_microdollars: json(row.charged),
      }))
  return {
    by_day: by('day', 'day'),
    by_service: by('service', 'service'),
    by_key: by('key_id', 'key'),
  }
}
