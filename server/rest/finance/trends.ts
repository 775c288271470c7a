import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import type { RecentReads } from '../../../core/db/recent-reads.ts'
import { type MonthFigures, readTrends } from '../../../core/finance/trends.ts'
import { json } from '../../../core/money.ts'
import { refreshedWhileUsed } from '../../../core/runtime/cache.ts'
import { replyRecent } from '../recent.ts'
import { type AnyRoute, route } from '../route.ts'

export interface TrendDeps {
  readonly recentReads: RecentReads
  readonly clock: Clock
}

const MONTHS = 12
/** The balances of 13 dates are read: refreshed while in use, so that no reader waits. */
const CACHE_MS = 60_000

const Month = z.object({
  month: z.string().meta({ description: 'UTC month, such as 2026-11. The last one is not over.' }),
  provider_sales_microdollars: z.int().meta({
    description: 'Price of calls of providers, before commission and refunds.',
  }),
  first_party_sales_microdollars: z.int().meta({
    description: 'Price of calls of first-party services, after refunds.',
  }),
  commission_microdollars: z.int(),
  income_microdollars: z.int(),
  expenses_microdollars: z.int(),
  net_income_microdollars: z.int(),
  gas_microdollars: z.int(),
  payouts_microdollars: z.int().meta({ description: 'Payouts started that did not fail.' }),
  liabilities_microdollars: z.int().meta({ description: 'At the end of the month.' }),
  cash_microdollars: z.int().meta({
    description: 'USDC of the platform at the end of the month, payments in transit included.',
  }),
})

const Trends = z.object({ data: z.array(Month) })
export type TrendsJson = z.infer<typeof Trends>

export const trendRoutes = ({ recentReads, clock }: TrendDeps): readonly AnyRoute[] => {
  const trends = refreshedWhileUsed(CACHE_MS, () =>
    replyRecent(recentReads, async (pool) => {
      const months = await readTrends(pool, clock.now(), MONTHS)
      return { body: { data: months.map(showMonth) } }
    }),
  )
  return [
    route('GET /v1/finance/trends', {
      summary: 'Returns sales, results, payouts, liabilities and cash of the last 12 months.',
      auth: 'finance',
      response: { status: 200, schema: Trends },
      handle: () => trends(),
    }),
  ]
}

const showMonth = (found: MonthFigures): TrendsJson['data'][number] => ({
  month: found.month,
  provider_sales_microdollars: json(found.providerSales),
  first_party_sales_microdollars: json(found.firstPartySales),
  commission_microdollars: json(found.commission),
  income_microdollars: json(found.income),
  expenses_microdollars: json(found.expenses),
  net_income_microdollars: json(found.netIncome),
  gas_microdollars: json(found.gas),
  payouts_microdollars: json(found.payouts),
  liabilities_microdollars: json(found.liabilities),
  cash_microdollars: json(found.cash),
})
