import type { Pool } from 'pg'
import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../core/clock.ts'
import { json } from '../../../core/money.ts'
import { type Earned, earnedBy } from '../../../core/usage/earnings.ts'
import {
  type CallFigures,
  type Customer,
  callFigures,
  customersOf,
  salesOf,
} from '../../../core/usage/provider-statistics.ts'
import { Days, rangeOf } from '../account/wallet.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

export interface StatisticsPorts {
  readonly pool: Pool
  readonly clock: Clock
  /** Callers are told apart by it, and not known by it. */
  readonly secret: Buffer
}

const count = z.int().min(0)
const ms = z.int().nullable()
const Figures = z.object({
  calls: count,
  delivered: count,
  refused: count.meta({ description: "Failed by the caller's own doing, such as invalid input." }),
  success_rate: z.number().nullable().meta({
    description: 'Delivered, of all that the caller did not spoil: 0 to 1.',
  }),
  latency_ms: z.object({ p50: ms, p95: ms, p99: ms }).meta({ description: 'Of the delivered.' }),
})

const Money = z.object({
  paid_calls: count.meta({ description: 'By the ledger, as the next four.' }),
  gross_microdollars: count.meta({ description: 'What callers paid.' }),
  commission_microdollars: count,
  refunded_microdollars: count.meta({ description: 'Your part of what they got back.' }),
  earned_microdollars: z.int(),
})

const Row = Figures.extend(Money.partial().shape).extend({
  day: z.iso.date().optional(),
  service: z.string().optional(),
  endpoint: z.string().optional(),
  outcome: z.string().optional().meta({
    description: 'delivered, taken, unresolved; of failed calls the code of the reason.',
  }),
})

const Statistics = z.object({
  from: z.iso.date(),
  to: z.iso.date(),
  totals: Figures.extend(Money.shape),
  data: z.array(Row),
})

export type StatisticsJson = z.infer<typeof Statistics>

const showFigures = (figures: CallFigures | undefined) => {
  const { calls = 0n, delivered = 0n, refused = 0n } = figures ?? {}
  const tried = calls - refused
  return {
    calls: json(calls),
    delivered: json(delivered),
    refused: json(refused),
    success_rate: tried > 0n ? Number((delivered * 10_000n) / tried) / 10_000 : null,
    latency_ms: {
      p50: figures?.p50 ?? null,
      p95: figures?.p95 ?? null,
      p99: figures?.p99 ?? null,
    },
  }
}

const showMoney = (earned: Earned | undefined) => {
  const { calls = 0n, gross = 0n, commission = 0n, refunded = 0n } = earned ?? {}
  return {
    paid_calls: json(calls),
    gross_microdollars: json(gross),
    commission_microdollars: json(commission),
    refunded_microdollars: json(refunded),
    earned_microdollars: json(gross - commission - refunded),
  }
}

const inOrder = (a: string, b: string): number => (a < b ? -1 : 1)

const service = z.string().max(40).optional()
const by = z.enum(['day', 'service', 'endpoint', 'outcome']).default('day')

/** How what is sold does. */
export const statisticsRoutes = (ports: StatisticsPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/statistics',
    summary: 'Calls, latency and earnings by day or service; calls by endpoint or outcome.',
    auth: 'provider',
    query: Days.extend({ service, by }),
    answer: { status: 200, schema: Statistics },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => {
      const { pool, clock } = ports
      const { by, from, to, service } = request.query
      const { since, until } = rangeOf({ from, to }, clock.now())
      const days = { from: dayName(since), to: dayName(until) }
      const sales = await salesOf(pool, ownerOf(request), service)
      const hasMoney = by === 'day' || by === 'service'
      const [figures, earned] = await Promise.all([
        callFigures(pool, { sales, by, from: since, until: daysBefore(until, -1) }),
        earnedBy(pool, { ...sales, ...days, service, by: by === 'service' ? by : 'day' }),
      ])
      const figuresOf = new Map(figures.map((row) => [row.of, row]))
      const earnedOf = new Map(earned.map((row) => [row.of, row]))
      const all = [...figuresOf.keys(), ...(hasMoney ? earnedOf.keys() : [])]
      const names = new Set(all.filter((name) => name !== null))
      const data = [...names].sort(inOrder).map((name) => ({
        [by]: name,
        ...showFigures(figuresOf.get(name)),
        ...(hasMoney ? showMoney(earnedOf.get(name)) : {}),
      }))
      const totals = { ...showFigures(figuresOf.get(null)), ...showMoney(earnedOf.get(null)) }
      return { body: { ...days, totals, data } }
    },
  }),
  customersRoute(ports),
]

const ShownCustomer = z.object({
  customer: z.string().meta({ description: 'A pseudonym, the same for the same caller.' }),
  calls: count,
  delivered: count,
  charged_microdollars: count,
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
})

export type CustomerJson = z.infer<typeof ShownCustomer>

const showCustomer = (row: Customer) => ({
  customer: row.customer,
  calls: json(row.calls),
  delivered: json(row.delivered),
  charged_microdollars: json(row.charged),
  first_at: row.firstAt.toISOString(),
  last_at: row.lastAt.toISOString(),
})

const customersRoute = (ports: StatisticsPorts): AnyRoute =>
  route({
    method: 'GET',
    path: '/v1/provider/customers',
    summary: 'Who calls what you sell, by pseudonyms: those first who paid most.',
    auth: 'provider',
    query: Days.extend({ service, ...paging }),
    answer: { status: 200, schema: pageOf(ShownCustomer) },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => {
      const { pool, clock, secret } = ports
      const { from, to, service, limit, cursor } = request.query
      const { since, until } = rangeOf({ from, to }, clock.now())
      const sales = await salesOf(pool, ownerOf(request), service)
      const after = readCursor(cursor, z.tuple([z.string().regex(/^\d{1,18}$/), z.string()]))
      const rows = await customersOf(pool, {
        sales,
        from: since,
        until: daysBefore(until, -1),
        limit: limit + 1,
        after: after && [BigInt(after[0]), after[1]],
        secret,
      })
      const position = ({ charged, customer }: Customer) => [String(charged), customer]
      return page(rows, limit, request.url, position, showCustomer)
    },
  })
