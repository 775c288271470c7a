import { z } from 'zod'
import { type ChecklistItem, closingChecklist } from '../../../core/finance/closing-checklist.ts'
import { proposeClosing } from '../../../core/finance/month-closing.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { closedPeriods } from '../../../core/ledger/history/period.ts'
import { json } from '../../../core/money.ts'
import { auditReason, month } from '../fields.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

const Period = z.object({ month: z.string(), closed_at: z.iso.datetime(), author: z.string() })

const Checklist = z.object({
  month: z.string(),
  complete: z.boolean(),
  items: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      advice: z.string().meta({ description: 'How to meet the condition.' }),
      open: z.int().min(0).meta({ description: 'Number of open items; 0: the condition is met.' }),
    }),
  ),
})

export type PeriodJson = z.infer<typeof Period>
export type ChecklistJson = z.infer<typeof Checklist>

/** Closed months, and the closing of a month by two people. */
export const periodRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/periods', {
    summary: 'Lists the closed months, newest first.',
    auth: 'finance',
    response: { status: 200, schema: z.object({ data: z.array(Period) }) },
    handle: async () => {
      const periods = await closedPeriods(deps.pool)
      const data = periods.toReversed().map(({ closedAt, ...period }) => ({
        ...period,
        closed_at: closedAt.toISOString(),
      }))
      return { body: { data } }
    },
  }),
  route('GET /v1/finance/periods/{month}/checklist', {
    summary: 'Returns what is missing before a month can be closed.',
    auth: 'finance',
    response: { status: 200, schema: Checklist },
    faults: ['validation_failed'],
    handle: async ({ params }) => {
      const name = parse(month, params.month, 'month')
      const items = await closingChecklist(deps.pool, name)
      return { body: showChecklist(name, items) }
    },
  }),
  proposeRoute(deps),
]

const proposeRoute = (deps: FinanceDeps): AnyRoute =>
  route('POST /v1/finance/periods', {
    summary: 'Proposes to close a month and all before it permanently; another person confirms it.',
    auth: 'finance',
    body: z.strictObject({
      month,
      override: z.boolean().default(false).meta({
        description: 'Closes although the checklist is not complete, if both people agree.',
      }),
      reason: auditReason,
    }),
    response: {
      status: 202,
      or: 200,
      schema: z.object({
        id: z.uuid().nullable().meta({
          description: 'Proposal to confirm; null if the month is closed already.',
        }),
        state: z.enum(['proposed', 'closed']),
      }),
    },
    faults: ['not_closable', 'not_booked'],
    handle: async (request) => {
      const { reason, ...closing } = request.body
      const proposed = await proposeClosing(deps, staffOf(request), closing, reason)
      if (!proposed) return { status: 200, body: { id: null, state: 'closed' } }
      return { status: 202, body: { id: proposed.id, state: 'proposed' } }
    },
  })

const showChecklist = (name: string, items: readonly ChecklistItem[]): ChecklistJson => ({
  month: name,
  complete: items.every(({ open }) => open === 0n),
  items: items.map((item) => ({ ...item, open: json(item.open) })),
})
