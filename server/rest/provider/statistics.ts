import type { Pool } from 'pg'
import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../core/clock.ts'
import type { RecentReads } from '../../../core/db/recent-reads.ts'
import type { KeyManager } from '../../../core/identity/sub-keys.ts'
import { json } from '../../../core/money.ts'
import type { PurposeKeys } from '../../../core/secret-keys/purpose-keys.ts'
import { type EarningTotals, readEarnings } from '../../../core/usage/earnings.ts'
import {
  type CallGroupStatistics,
  type Customer,
  type EndpointUsage,
  findSoldServices,
  listCustomers,
  readCallStatistics,
  readUsage,
  type SoldServices,
  type StatisticsGroup,
} from '../../../core/usage/provider-statistics.ts'
import { dayRange, dayRangeFields, dayRangeQuery } from '../days.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { replyRecent } from '../recent.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

export interface StatisticsDeps {
  readonly recentReads: RecentReads
  readonly clock: Clock
  /** Key of callers' pseudonyms. */
  readonly callerNames: PurposeKeys
}

const count = z.int().min(0)
const ms = z.int().nullable()
const CallGroupStatistics = z.object({
  calls: count,
  delivered: count,
  refused: count.meta({ description: 'Failed because of the caller, such as invalid input.' }),
  success_rate: z.number().nullable().meta({
    description: 'Delivered calls divided by calls that were not refused, 0 to 1.',
  }),
  latency_ms: z.object({ p50: ms, p95: ms, p99: ms }).meta({ description: 'Of delivered calls.' }),
})

const EarningStatistics = z.object({
  paid_calls: count.meta({ description: 'From the ledger, like the next four fields.' }),
  gross_microdollars: count.meta({ description: 'Paid by callers.' }),
  commission_microdollars: count,
  refunded_microdollars: count.meta({ description: 'Your share of refunds.' }),
  earned_microdollars: z.int(),
})

const StatisticsRow = CallGroupStatistics.extend(EarningStatistics.partial().shape).extend({
  day: z.iso.date().optional(),
  service: z.string().optional(),
  endpoint: z.string().optional(),
  outcome: z.string().optional().meta({
    description: 'delivered, taken, unresolved, or the reason code of failed calls.',
  }),
})

const Statistics = z.object({
  from: z.iso.date(),
  to: z.iso.date(),
  totals: CallGroupStatistics.extend(EarningStatistics.shape),
  data: z.array(StatisticsRow),
  usage: z
    .array(
      z.object({
        service: z.string(),
        endpoint: z.string(),
        unit: z.string(),
        calls: count,
        quantity: count.meta({ description: 'Units that were paid for, also by free units.' }),
        charged_microdollars: count,
      }),
    )
    .meta({ description: 'Usage of endpoints with a metered price.' }),
})

const showUsage = ({ calls, quantity, charged, ...names }: EndpointUsage) => ({
  ...names,
  calls: json(calls),
  quantity: json(quantity),
  charged_microdollars: json(charged),
})

export type StatisticsJson = z.infer<typeof Statistics>

const showCallStatistics = (figures: CallGroupStatistics | undefined) => {
  const { calls = 0n, delivered = 0n, refused = 0n } = figures ?? {}
  const tried = calls - refused
  return {
    calls: json(calls),
    delivered: json(delivered),
    refused: json(refused),
    success_rate: tried > 0n ? Number((delivered * 10_000n) / tried) / 10_000 : null,
    latency_ms: { p50: figures?.p50 ?? null, p95: figures?.p95 ?? null, p99: figures?.p99 ?? null },
  }
}

const showEarnings = (earned: EarningTotals | undefined) => {
  const { calls = 0n, gross = 0n, commission = 0n, refunded = 0n } = earned ?? {}
  return {
    paid_calls: json(calls),
    gross_microdollars: json(gross),
    commission_microdollars: json(commission),
    refunded_microdollars: json(refunded),
    earned_microdollars: json(gross - commission - refunded),
  }
}

const byName = (a: string, b: string): number => (a < b ? -1 : 1)

const serviceFilter = z.string().max(40).optional()
const groupBy = z.enum(['day', 'service', 'endpoint', 'outcome']).default('day')

export const statisticsRoutes = (deps: StatisticsDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/statistics', {
    summary: 'Returns calls, latency and earnings by day, service, endpoint or outcome.',
    auth: 'provider',
    query: dayRangeQuery.extend({ service: serviceFilter, by: groupBy }),
    response: { status: 200, schema: Statistics },
    faults: ['root_key_required', 'service_not_found'],
    handle: (request) =>
      replyRecent(deps.recentReads, async (pool) => {
        const { by, from, to, service } = request.query
        const { since, until } = dayRange({ from, to }, deps.clock.now())
        const owner = ownerOf(request)
        const sales = await findSoldServices(pool, owner, service)
        return { body: await readStatistics(pool, { owner, sales, by, service, since, until }) }
      }),
  }),
  customersRoute(deps),
]

interface StatisticsScope {
  readonly owner: KeyManager
  readonly sales: SoldServices
  readonly by: StatisticsGroup
  readonly service: string | undefined
  /** First and last day. */
  readonly since: Date
  readonly until: Date
}

async function readStatistics(
  pool: Pool,
  { owner, sales, by, service, since, until: last }: StatisticsScope,
): Promise<StatisticsJson> {
  const days = { from: dayName(since), to: dayName(last) }
  const until = daysBefore(last, -1)
  const hasMoney = by === 'day' || by === 'service'
  const [figures, earned, usage] = await Promise.all([
    readCallStatistics(pool, { sales, by, from: since, until }),
    readEarnings(pool, { owner, ...days, service, by: by === 'service' ? by : 'day' }),
    readUsage(pool, { sales, from: since, until }),
  ])
  const figuresOf = new Map(figures.map((row) => [row.groupKey, row]))
  const earnedOf = new Map(earned.map((row) => [row.groupKey, row]))
  const all = [...figuresOf.keys(), ...(hasMoney ? earnedOf.keys() : [])]
  const names = new Set(all.filter((name) => name !== null))
  const data = [...names].sort(byName).map((name) => ({
    [by]: name,
    ...showCallStatistics(figuresOf.get(name)),
    ...(hasMoney ? showEarnings(earnedOf.get(name)) : {}),
  }))
  const totals = {
    ...showCallStatistics(figuresOf.get(null)),
    ...showEarnings(earnedOf.get(null)),
  }
  return { ...days, totals, data, usage: usage.map(showUsage) }
}

const CustomerView = z.object({
  customer: z.string().meta({ description: 'Pseudonym, stable for each caller.' }),
  calls: count,
  delivered: count,
  charged_microdollars: count,
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
})

export type CustomerJson = z.infer<typeof CustomerView>

const showCustomer = (row: Customer) => ({
  customer: row.customer,
  calls: json(row.calls),
  delivered: json(row.delivered),
  charged_microdollars: json(row.charged),
  first_at: row.firstAt.toISOString(),
  last_at: row.lastAt.toISOString(),
})

const customersRoute = (deps: StatisticsDeps): AnyRoute =>
  route('GET /v1/provider/customers', {
    summary: 'Lists your customers by pseudonym, highest spending first.',
    auth: 'provider',
    query: listQuery({ ...dayRangeFields, service: serviceFilter }),
    response: { status: 200, schema: pageSchema(CustomerView) },
    faults: ['root_key_required', 'service_not_found'],
    handle: (request) => {
      const { recentReads, clock, callerNames } = deps
      const { from, to, service, limit, cursor } = request.query
      const { since, until } = dayRange({ from, to }, clock.now())
      const after = readCursor(cursor, z.tuple([z.string().regex(/^\d{1,18}$/), z.string()]))
      return replyRecent(recentReads, async (pool) => {
        const sales = await findSoldServices(pool, ownerOf(request), service)
        const rows = await listCustomers(pool, {
          sales,
          from: since,
          until: daysBefore(until, -1),
          limit: limit + 1,
          after: after && [BigInt(after[0]), after[1]],
          secret: callerNames.current.material,
        })
        const position = ({ charged, customer }: Customer) => [String(charged), customer]
        return toPage(rows, limit, request.url, position, showCustomer)
      })
    },
  })
