import { z } from 'zod'
import { whatWaits } from '../../../core/finance/overview.ts'
import { json } from '../../../core/money.ts'
import { type AnyRoute, route } from '../route.ts'
import type { PaymentsPorts } from './payments.ts'

const count = z.int().min(0)

const Overview = z.object({
  sound: z.boolean().meta({ description: 'The trial balance of now is zero for each asset.' }),
  exceptions: count.meta({ description: 'Of chain and books, that nobody has accounted for.' }),
  payments: count.meta({ description: 'In both directions, that are not final yet.' }),
  payments_overdue: count.meta({ description: 'Of these, that should be.' }),
  adjustments: count.meta({ description: 'That wait for a second person.' }),
  outgoing_paused: z.boolean().meta({ description: 'Whether payments to sellers are paused.' }),
})

export type OverviewJson = z.infer<typeof Overview>

/** What there is to look at. */
export const overviewRoutes = ({ pool, finality }: PaymentsPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/overview',
    summary:
      'What waits for somebody, as of one instant: whether the books balance, and what is open.',
    auth: 'finance',
    answer: { status: 200, schema: Overview },
    handle: async () => {
      const found = await whatWaits(pool, finality)
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
