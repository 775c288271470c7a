import { z } from 'zod'
import { recoverFromEarnings, writeOffDebt } from '../../../core/finance/receivables.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { json } from '../../../core/money.ts'
import { type DebtOrigin, listDebts } from '../../../core/payments/payouts/debts.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'
import { DecisionView } from './proposals.ts'

const Debt = z.object({
  provider_id: z.string(),
  entry_id: z.uuid().meta({ description: 'Refunded call, its payment, or the correction.' }),
  event: z.string(),
  at: z.iso.datetime(),
  age_days: z.int().min(0),
  amount_microdollars: z.int(),
  open_microdollars: z.int().meta({
    description: 'Still owed. The oldest debts of a provider are made good first.',
  }),
})

const Receivables = z.object({
  total_microdollars: z.int(),
  providers: z.array(z.object({ provider_id: z.string(), open_microdollars: z.int() })),
  data: z.array(Debt),
})

export type ReceivablesJson = z.infer<typeof Receivables>

const DAY_MS = 86_400_000
const faults = ['not_booked', 'own_account'] as const

/** Debts of providers by origin and age, their recovery and write-off. */
export const receivableRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/receivables', {
    summary: 'Lists what providers owe, by origin, the oldest first.',
    auth: 'finance',
    response: { status: 200, schema: Receivables },
    handle: async () => {
      const debts = await listDebts(deps.pool)
      const sum = (some: readonly DebtOrigin[]) =>
        json(some.reduce((all, { open }) => all + open, 0n))
      const groups = Map.groupBy(debts, ({ provider }) => provider)
      const now = deps.clock.now().getTime()
      return {
        body: {
          total_microdollars: sum(debts),
          providers: [...groups].map(([provider, some]) => ({
            provider_id: provider,
            open_microdollars: sum(some),
          })),
          data: debts.map((debt) => showDebt(debt, now)),
        },
      }
    },
  }),
  route('POST /v1/finance/receivables/{provider}/recovery', {
    summary:
      'Takes the debt out of the earnings of the provider now; above the limit, proposes it.',
    auth: 'finance',
    body: z.strictObject({ reason: auditReason }),
    response: { status: 200, or: 202, schema: DecisionView },
    faults,
    handle: async (request) => {
      const { reason } = request.body
      const made = await recoverFromEarnings(
        deps,
        staffOf(request),
        request.params.provider,
        reason,
      )
      return { status: made.state === 'proposed' ? 202 : 200, body: made }
    },
  }),
  route('POST /v1/finance/receivables/{provider}/write-off', {
    summary: 'Proposes to write off a debt as uncollectible; a second person must confirm it.',
    auth: 'finance',
    body: z.strictObject({
      amount_microdollars: z.int().min(1).optional().meta({ description: 'Default: all of it.' }),
      reason: auditReason,
    }),
    response: { status: 202, schema: DecisionView },
    faults,
    handle: async (request) => {
      const { amount_microdollars: part, reason } = request.body
      const amount = part === undefined ? undefined : BigInt(part)
      const by = staffOf(request)
      const made = await writeOffDebt(deps, by, request.params.provider, reason, amount)
      return { status: 202, body: made }
    },
  }),
]

const showDebt = (debt: DebtOrigin, now: number): z.infer<typeof Debt> => ({
  provider_id: debt.provider,
  entry_id: debt.id,
  event: debt.event,
  at: debt.at.toISOString(),
  age_days: Math.max(0, Math.floor((now - debt.at.getTime()) / DAY_MS)),
  amount_microdollars: json(debt.amount),
  open_microdollars: json(debt.open),
})
