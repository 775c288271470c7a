import { z } from 'zod'
import { pendingWork } from '../../../core/finance/pending-work.ts'
import { json } from '../../../core/money.ts'
import { type AnyRoute, route } from '../route.ts'
import type { PaymentsDeps } from './payments.ts'

const count = z.int().min(0)

const Overview = z.object({
  sound: z.boolean().meta({ description: 'True if the trial balance is zero for each asset.' }),
  exceptions: count.meta({ description: 'Unresolved differences between ledger and chain.' }),
  payments: count.meta({ description: 'Payments in both directions that are not final.' }),
  payments_overdue: count.meta({ description: 'Non-final payments past their deadline.' }),
  adjustments: count.meta({ description: 'Adjustments awaiting a second person.' }),
  outgoing_paused: z.boolean().meta({ description: 'True if payments to sellers are paused.' }),
})

export type OverviewJson = z.infer<typeof Overview>

export const overviewRoutes = ({ pool, finality }: PaymentsDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/overview', {
    summary: 'Returns pending work: ledger balance, exceptions, payments and adjustments.',
    auth: 'finance',
    response: { status: 200, schema: Overview },
    handle: async () => {
      const found = await pendingWork(pool, finality)
      return {
        body: {
          sound: found.sound,
          exceptions: json(found.exceptions),
          payments: json(found.payments),
          payments_overdue: json(found.overdue),
          adjustments: json(found.proposals),
          outgoing_paused: found.paused,
        },
      }
    },
  }),
]
