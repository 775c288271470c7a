import type { Pool } from 'pg'
import { z } from 'zod'
import { json } from '../../../core/money.ts'
import {
  type Holding,
  holdingsOf,
  type Wait,
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
] as const satisfies readonly Wait[]
const balanceFields = {
  owed_microdollars: amount.meta({ description: 'Earned, and not paid out.' }),
  under_way_microdollars: amount.meta({ description: 'Of a payout that is not final yet.' }),
  paid_microdollars: amount.meta({ description: 'Of all payouts that are final.' }),
}

const Balance = z.object({
  minimum_microdollars: amount.meta({ description: 'From this much on there is a payout.' }),
  totals: z.object(balanceFields),
  data: z.array(
    z.object({
      provider_id: z.string(),
      ...balanceFields,
      waits_for: z.enum(WAIT_REASONS).meta({
        description:
          'What the next payout waits for. address: set one. payout: one is under way. ' +
          'tomorrow: there is one on a UTC day. pause: all payments of the hub are paused. ' +
          'run: nothing, it is started within a minute.',
      }),
      services: z.array(z.object({ service: z.string(), owed_microdollars: amount })),
    }),
  ),
})

export type ProviderBalanceJson = z.infer<typeof Balance>

export interface BalanceDeps {
  readonly pool: Pool
  /** Microdollars from which on there is a payout. */
  readonly minimumPayout: bigint
}

/** Where the money of a provider is. */
export const balanceRoutes = ({ pool, minimumPayout }: BalanceDeps): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/balance',
    summary:
      'What you are owed, by service; what is on its way, and what the next payout waits for.',
    auth: 'provider',
    response: { status: 200, schema: Balance },
    faults: ['root_key_required'],
    handle: async (request) => {
      const holdings = await holdingsOf(pool, ownerOf(request), minimumPayout)
      const sum = (of: (holding: Holding) => bigint) =>
        json(holdings.reduce((total, holding) => total + of(holding), 0n))
      const totals = {
        owed_microdollars: sum(({ owed }) => owed),
        under_way_microdollars: sum(({ underWay }) => underWay),
        paid_microdollars: sum(({ paid }) => paid),
      }
      const data = holdings.map(showHolding)
      return { body: { minimum_microdollars: json(minimumPayout), totals, data } }
    },
  }),
]

const showHolding = ({ provider, owed, underWay, paid, waitsFor, services }: Holding) => ({
  provider_id: provider,
  owed_microdollars: json(owed),
  under_way_microdollars: json(underWay),
  paid_microdollars: json(paid),
  waits_for: waitsFor,
  services: services.map((each) => ({
    service: each.service,
    owed_microdollars: json(each.owed),
  })),
})
