import { z } from 'zod'
import { dayName, daysBefore } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { type ConversionReport, conversionReport } from '../../../core/finance/conversion-report.ts'
import type { PriceFeed } from '../../../core/finance/price-feed.ts'
import { parseReportPeriod } from '../../../core/finance/report-period.ts'
import { submitRevaluation } from '../../../core/finance/revaluation.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { json, micros } from '../../../core/money.ts'
import { auditReason, month } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'
import { DecisionView } from './proposals.ts'
import { reportPeriod } from './reports.ts'

const ConversionView = z.object({
  period: z.string(),
  price_feed: z.string().nullable().meta({
    description: 'Host from which the price of ETH can be read; null: none is configured.',
  }),
  accounts: z.array(
    z.object({
      account: z.string(),
      asset: z.string(),
      opening: z.int(),
      changes: z.array(z.object({ event: z.string(), entries: z.int(), amount: z.int() })),
      closing: z.int().meta({ description: 'opening and changes; credits are positive.' }),
    }),
  ),
  revaluations: z.array(
    z.object({
      entry_id: z.uuid(),
      value_at: z.iso.datetime(),
      price: z.string().meta({ description: 'USD per ETH.' }),
      source: z.string(),
      author: z.string().nullable(),
    }),
  ),
})

export type ConversionJson = z.infer<typeof ConversionView>

const PRICE_MAX = 1_000_000_000_000

export interface ConversionDeps extends FinanceDeps {
  readonly priceFeed: Pick<PriceFeed, 'host' | 'read'> | undefined
}

const EthPrice = z.object({
  month: z.string(),
  price_microdollars: z.int().meta({ description: 'Of one ETH, at the end of the month.' }),
  source: z.string().meta({ description: 'Pass it on with the revaluation.' }),
})

export type EthPriceJson = z.infer<typeof EthPrice>

/** Accounts between ETH and USDC, and the revaluation of ETH at the end of a month. */
export const conversionRoutes = (deps: ConversionDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/conversion', {
    summary: 'Explains the accounts between ETH and USDC in a period: gas, value, revaluations.',
    auth: 'finance',
    query: z.strictObject({
      period: reportPeriod.meta({ description: 'UTC month, quarter or year: 2026-11.' }),
    }),
    response: { status: 200, schema: ConversionView },
    handle: async ({ query }) => ({
      body: {
        ...showConversion(await conversionReport(deps.pool, query.period)),
        price_feed: deps.priceFeed?.host ?? null,
      },
    }),
  }),
  route('GET /v1/finance/eth-price', {
    summary: 'Reads the price of ETH at the end of a month from the configured feed.',
    auth: 'finance',
    query: z.strictObject({ month }),
    response: { status: 200, schema: EthPrice },
    faults: ['not_found', 'price_feed_unavailable', 'price_implausible'],
    handle: async ({ query: { month: name } }) => {
      if (!deps.priceFeed) {
        throw new Fault('not_found', 'There is no price feed: HUB_ETH_PRICE_FEED is not set.')
      }
      const { to } = parseReportPeriod(name)!
      if (to > deps.clock.now()) {
        throw new Fault('validation_failed', 'The month is not over.')
      }
      const { price, source } = await deps.priceFeed.read(dayName(daysBefore(to, 1)))
      return { body: { month: name, price_microdollars: json(price), source } }
    },
  }),
  route('POST /v1/finance/revaluations', {
    summary: 'Values the ETH at the end of a month; above the daily limit, proposes it (202).',
    auth: 'finance',
    body: z.strictObject({
      month,
      price_microdollars: z.int().min(1).max(PRICE_MAX).meta({ description: 'Of one ETH.' }),
      source: z.string().trim().min(1).max(200).meta({
        description: 'Where the price was read, such as an exchange and a time.',
      }),
      reason: auditReason,
    }),
    response: { status: 201, or: 202, schema: DecisionView },
    faults: ['not_booked'],
    handle: async (request) => {
      const { month, price_microdollars: price, source, reason } = request.body
      const order = { month, price: micros(price), source }
      const made = await submitRevaluation(deps, staffOf(request), order, reason)
      return { status: made.state === 'proposed' ? 202 : 201, body: made }
    },
  }),
]

const showConversion = ({ period, lines, revaluations }: ConversionReport) => ({
  period: period.name,
  accounts: lines.map((line) => ({
    account: line.account,
    asset: line.asset,
    opening: json(line.opening),
    changes: line.changes.map(({ event, entries, amount }) => ({
      event,
      entries: json(entries),
      amount: json(amount),
    })),
    closing: json(line.closing),
  })),
  revaluations: revaluations.map(({ id, valueAt, ...rest }) => ({
    entry_id: id,
    value_at: valueAt.toISOString(),
    ...rest,
  })),
})
