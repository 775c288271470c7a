import type { Pool } from 'pg'
import { z } from 'zod'
import type { Config } from '../../../core/config.ts'
import { json } from '../../../core/money.ts'
import {
  type PayoutBlocker,
  type ProviderBalance,
  readProviderBalances,
} from '../../../core/payments/payouts/provider-balances.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const amount = z.int()
const WAIT_REASONS = [
  'suspension',
  'address',
  'address_change',
  'payout',
  'minimum',
  'tomorrow',
  'first_payout',
  'manual_credit',
  'approval',
  'provider_cap',
  'platform_cap',
  'pause',
  'run',
] as const satisfies readonly PayoutBlocker[]
const DebtView = z.object({
  entry_id: z.uuid().meta({ description: 'Refunded call, or the correction.' }),
  at: z.iso.datetime(),
  amount_microdollars: amount,
  open_microdollars: amount.meta({ description: 'Still owed.' }),
})

const balanceFields = {
  owed_microdollars: amount.meta({ description: 'Earned but not paid out.' }),
  debt_microdollars: amount.meta({
    description: 'You owe: refunds of calls that were paid out already. Deducted from earnings.',
  }),
  under_way_microdollars: amount.meta({ description: 'In a payout that is not final yet.' }),
  paid_microdollars: amount.meta({ description: 'Total of final payouts.' }),
}

const Balance = z.object({
  minimum_microdollars: amount.meta({ description: 'Minimum payout.' }),
  maximum_day_microdollars: amount.meta({
    description: 'Maximum paid to one provider per UTC day; the rest follows on the next days.',
  }),
  totals: z.object(balanceFields),
  data: z.array(
    z.object({
      provider_id: z.string(),
      ...balanceFields,
      waits_for: z.enum(WAIT_REASONS).meta({
        description:
          'Condition of the next payout. address: set one. payout: one is pending. ' +
          'tomorrow: limited to one per UTC day. first_payout, manual_credit: a waiting period ' +
          'before a first payout, after a manual credit. approval: its amount needs the approval ' +
          'of a person. provider_cap, platform_cap: the maximum of today is reached. ' +
          'pause: all payments of the hub are paused. run: none, it starts within a minute.',
      }),
      waits_until: z.iso.datetime().nullable().meta({
        description: 'End of the wait. null: it ends by an event, or nothing waits.',
      }),
      services: z.array(z.object({ service: z.string(), owed_microdollars: amount })),
      debts: z.array(DebtView).meta({ description: 'What you owe, the oldest first.' }),
    }),
  ),
})

export type ProviderBalanceJson = z.infer<typeof Balance>

export interface BalanceDeps {
  readonly pool: Pool
  /** Minimum payout and rules of payouts. */
  readonly payouts: Pick<Config['payouts'], 'minimum' | 'rules'>
}

export const balanceRoutes = ({ pool, payouts }: BalanceDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/balance', {
    summary: 'Returns your unpaid earnings by service and the state of payouts.',
    auth: 'provider',
    response: { status: 200, schema: Balance },
    faults: ['root_key_required'],
    handle: async (request) => {
      const balances = await readProviderBalances(pool, ownerOf(request), payouts)
      const sum = (of: (balance: ProviderBalance) => bigint) =>
        json(balances.reduce((total, balance) => total + of(balance), 0n))
      const totals = {
        owed_microdollars: sum(({ owed }) => owed),
        debt_microdollars: sum(debtOf),
        under_way_microdollars: sum(({ pending }) => pending),
        paid_microdollars: sum(({ paid }) => paid),
      }
      const data = balances.map(showBalance)
      return {
        body: {
          minimum_microdollars: json(payouts.minimum),
          maximum_day_microdollars: json(payouts.rules.providerCap),
          totals,
          data,
        },
      }
    },
  }),
]

const debtOf = ({ debts }: ProviderBalance): bigint =>
  debts.reduce((sum, { open }) => sum + open, 0n)

const showBalance = (balance: ProviderBalance) => ({
  provider_id: balance.provider,
  owed_microdollars: json(balance.owed),
  debt_microdollars: json(debtOf(balance)),
  under_way_microdollars: json(balance.pending),
  paid_microdollars: json(balance.paid),
  waits_for: balance.waitsFor,
  waits_until: balance.waitsUntil?.toISOString() ?? null,
  services: balance.services.map((each) => ({
    service: each.service,
    owed_microdollars: json(each.owed),
  })),
  debts: balance.debts.map((each) => ({
    entry_id: each.id,
    at: each.at.toISOString(),
    amount_microdollars: json(each.amount),
    open_microdollars: json(each.open),
  })),
})
