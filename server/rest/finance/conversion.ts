import { z } from 'zod'
import { type ConversionReport, conversionReport } from '../../../core/finance/conversion-report.ts'
import { submitRevaluation } from '../../../core/finance/revaluation.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { json, micros } from '../../../core/money.ts'
import { auditReason, month } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'
import { DecisionView } from './proposals.ts'
import { reportPeriod } from './reports.ts'

const ConversionView = z.object({
  period: z.string(),
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

/** Accounts between ETH and USDC, and the revaluation of ETH at the end of a month. */
export const conversionRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/conversion', {
    summary: 'Explains the accounts between ETH and USDC in a period: gas, value, revaluations.',
    auth: 'finance',
    query: z.strictObject({
      period: reportPeriod.meta({ description: 'UTC month, quarter or year: 2026-11.' }),
    }),
    response: { status: 200, schema: ConversionView },
    handle: async ({ query }) => ({
      body: showConversion(await conversionReport(deps.pool, query.period)),
    }),
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

const showConversion = ({ period, lines, revaluations }: ConversionReport): ConversionJson => ({
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
