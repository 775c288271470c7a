import type { Pool } from 'pg'
import { z } from 'zod'
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
  'pause',
  'run',
] as const satisfies readonly PayoutBlocker[]
const balanceFields = {
  owed_microdollars: amount.meta({ description: 'Earned but not paid out.' }),
  under_way_microdollars: amount.meta({ description: 'In a payout that is not final yet.' }),
  paid_microdollars: amount.meta({ description: 'Total of final payouts.' }),
}

const Balance = z.object({
  minimum_microdollars: amount.meta({ description: 'Minimum payout.' }),
  totals: z.object(balanceFields),
  data: z.array(
    z.object({
      provider_id: z.string(),
      ...balanceFields,
      waits_for: z.enum(WAIT_REASONS).meta({
        description:
          'Condition of the next payout. address: set one. payout: one is pending. ' +
          'tomorrow: limited to one per UTC day. pause: all payments of the hub are paused. ' +
          'run: none, it starts within a minute.',
      }),
      services: z.array(z.object({ service: z.string(), owed_microdollars: amount })),
    }),
  ),
})

export type ProviderBalanceJson = z.infer<typeof Balance>

export interface BalanceDeps {
  readonly pool: Pool
  /** Minimum payout, in microdollars. */
  readonly minimumPayout: bigint
}

export const balanceRoutes = ({ pool, minimumPayout }: BalanceDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/balance', {
    summary: 'Returns your unpaid earnings by service and the state of payouts.',
    auth: 'provider',
    response: { status: 200, schema: Balance },
    faults: ['root_key_required'],
    handle: async (request) => {
      const balances = await readProviderBalances(pool, ownerOf(request), minimumPayout)
      const sum = (of: (balance: ProviderBalance) => bigint) =>
        json(balances.reduce((total, balance) => total + of(balance), 0n))
      const totals = {
        owed_microdollars: sum(({ owed }) => owed),
        under_way_microdollars: sum(({ pending }) => pending),
        paid_microdollars: sum(({ paid }) => paid),
      }
      const data = balances.map(showBalance)
      return { body: { minimum_microdollars: json(minimumPayout), totals, data } }
    },
  }),
]

const showBalance = ({ provider, owed, pending, paid, waitsFor, services }: ProviderBalance) => ({
  provider_id: provider,
  owed_microdollars: json(owed),
  under_way_microdollars: json(pending),
  paid_microdollars: json(paid),
  waits_for: waitsFor,
  services: services.map((each) => ({ service: each.service, owed_microdollars: json(each.owed) })),
})
