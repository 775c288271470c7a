import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { type Clock, monthStart } from '../../core/clock.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { json } from '../../core/money.ts'
import { TIERS } from '../../core/usage/rate-limit.ts'
import { balances, type CreditsPorts } from './credits.ts'
import { type AnyRoute, callerOf, route } from './route.ts'

const amount = z.int().min(0)
const Spending = z.object({
  calls: z.int(),
  free_calls: z.int(),
  charged_microdollars: amount,
})

const Wallet = z.object({
  wallet_address: z.string().nullable(),
  balance_microdollars: amount,
  reserved_microdollars: amount,
  rate_limit: z.object({ tier: z.enum(['free', 'paid']), requests_per_minute: z.int() }),
  free_calls: z.array(z.object({ service: z.string(), month: z.string(), remaining: z.int() })),
  spending: z.object({
    since: z.iso.datetime(),
    by_day: z.array(Spending.extend({ day: z.iso.date() })),
    by_service: z.array(Spending.extend({ service: z.string() })),
  }),
})

export const walletRoutes = (
  ports: Pick<CreditsPorts, 'pool' | 'standing'> & { readonly clock: Clock },
): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/wallet/balance',
    summary: 'Credits, this month’s spending by day and service, free calls, and rate limits.',
    auth: 'key',
    answer: { status: 200, schema: Wallet },
    handle: async (request) => {
      const caller = callerOf(request)
      const { pool, standing, clock } = ports
      const since = monthStart(clock.now())
      const tier = await standing.tier(caller.credits)
      return {
        body: {
          wallet_address: caller.wallet === null ? null : getAddress(caller.wallet),
          ...(await balances(ports, caller)),
          rate_limit: { tier, requests_per_minute: TIERS[tier] },
          free_calls: await freeCalls(pool, caller),
          spending: {
            since: since.toISOString(),
            by_day: await spending(pool, caller, since, `to_char(at, 'YYYY-MM-DD')`, 'day'),
            by_service: await spending(pool, caller, since, 'service', 'service'),
          },
        },
      }
    },
  }),
]

/** What is left of the free calls that were granted to the caller this month. */
export async function freeCalls(pool: Pool, { principal }: Caller) {
  const { rows } = await pool.query<{ service: string; month: string; remaining: bigint }>(
    `SELECT split_part(a.code, ':', 4) AS service, split_part(a.code, ':', 5) AS month,
       b.balance AS remaining
     FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
     WHERE a.code LIKE 'liabilities:free-calls:' || $1 || ':%:' || to_char(now(), 'YYYY-MM')
     ORDER BY 1`,
    [principal],
  )
  return rows.map((row) => ({ ...row, remaining: json(row.remaining) }))
}

async function spending(pool: Pool, caller: Caller, since: Date, group: string, name: string) {
  const { rows } = await pool.query<{
    group: string
    calls: number
    free: number
    charged: bigint
  }>(
    `SELECT ${group} AS group, count(*)::integer AS calls,
       (count(*) FILTER (WHERE source = 'free'))::integer AS free,
       coalesce(sum(charged), 0)::bigint AS charged
     FROM hub.call WHERE key_id = $1 AND at >= $2 GROUP BY 1 ORDER BY 1`,
    [caller.keyId, since],
  )
  return rows.map((row) => ({
    [name]: row.group,
    calls: row.calls,
    free_calls: row.free,
    charged_microdollars: json(row.charged),
  }))
}
