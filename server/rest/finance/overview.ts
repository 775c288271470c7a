import { z } from 'zod'
import { listWaitingPayouts } from '../../../core/finance/payout-approvals.ts'
import { pendingWork } from '../../../core/finance/pending-work.ts'
import { json } from '../../../core/money.ts'
import { type AnyRoute, route } from '../route.ts'
import type { PaymentsDeps } from './payments.ts'
import type { FinancePayoutDeps } from './payouts.ts'

const count = z.int().min(0)

const Overview = z.object({
  sound: z.boolean().meta({ description: 'True if the trial balance is zero for each asset.' }),
  verification_failures: z.array(z.string()).meta({
    description: 'Checks that failed in the last verification of the ledger, with an example.',
  }),
  exceptions: count.meta({ description: 'Unresolved differences between ledger and chain.' }),
  payments: count.meta({
    description: 'Incoming payments and payments to sellers that are not final.',
  }),
  payments_overdue: count.meta({ description: 'Non-final payments past their deadline.' }),
  adjustments: count.meta({ description: 'Proposals awaiting a second person.' }),
  commands: count.meta({ description: 'Privileged acts by command line in the last 30 days.' }),
  refusals: count.meta({ description: 'Refused attempts of staff in the last 30 days.' }),
  payouts_to_approve: count.meta({ description: 'Payouts that need the approval of a person.' }),
  payouts_pending: count.meta({
    description: 'Payouts that were started and are not final, for example for lack of gas.',
  }),
  payouts_waiting: count.meta({ description: 'Due payouts that wait by a rule.' }),
  outgoing_paused: z.boolean().meta({ description: 'True if payments to sellers are paused.' }),
})

export type OverviewJson = z.infer<typeof Overview>

export const overviewRoutes = ({
  pool,
  payouts,
  ...finality
}: PaymentsDeps & FinancePayoutDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/overview', {
    summary: 'Returns pending work: ledger balance, exceptions, payments and adjustments.',
    auth: 'finance',
    response: { status: 200, schema: Overview },
    handle: async () => {
      const [found, waiting] = await Promise.all([
        pendingWork(pool, finality),
        listWaitingPayouts(pool, payouts),
      ])
      return {
        body: {
          sound: found.sound,
          verification_failures: [...found.failures],
          exceptions: json(found.exceptions),
          payments: json(found.payments),
          payments_overdue: json(found.overdue),
          adjustments: json(found.proposals),
          commands: json(found.commands),
          refusals: json(found.refusals),
          payouts_to_approve: waiting.filter(({ rule }) => rule === 'approval').length,
          payouts_pending: json(found.payouts),
          payouts_waiting: waiting.length,
          outgoing_paused: found.paused,
        },
      }
    },
  }),
]
