import type { Pool } from 'pg'
import { z } from 'zod'
import { json } from '../../../core/money.ts'
import { finalityOn, type NetworkFinality } from '../../../core/payments/networks.ts'
import { forecastPayment } from '../../../core/payments/operations/forecast.ts'
import { listPayments, type PaymentDetails } from '../../../core/payments/operations/overview.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'

const Payment = z.object({
  id: z.uuid().meta({ description: 'Id of the call or purchase and of its journal entry.' }),
  direction: z.enum(['in', 'out']).meta({ description: 'in: to the hub; out: to a seller.' }),
  purpose: z.enum(['credits', 'call', 'external']),
  network: z.string().meta({ description: 'CAIP-2 name of the network.' }),
  amount_microdollars: z.int().min(0),
  counterparty: z.string().meta({ description: 'Wallet that pays the hub, or that the hub pays.' }),
  host: z.string().nullable(),
  key_id: z.string().nullable().meta({ description: 'Key whose credits pay the seller.' }),
  state: z.string(),
  reason: z.string().nullable().meta({ description: 'Reason for a failed delivery.' }),
  transaction: z.string().nullable(),
  nonce: z.string().meta({ description: 'Nonce of the payment authorization (EIP-3009).' }),
  since: z.iso.datetime(),
  age_seconds: z.int().min(0),
  deadline: z.iso.datetime().nullable().meta({ description: 'Expected time of finality.' }),
  overdue: z.boolean().meta({ description: 'True if past its deadline and in need of attention.' }),
  next_step: z.string().nullable().meta({ description: 'null: the payment is complete.' }),
})

export type PaymentJson = z.infer<typeof Payment>

export interface PaymentsDeps extends NetworkFinality {
  readonly pool: Pool
}

export const paymentsRoutes = ({ pool, ...finality }: PaymentsDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/payments', {
    summary: 'Lists pending payments, oldest first, or all payments, newest first.',
    auth: 'finance',
    query: listQuery({
      state: z.enum(['open', 'all']).default('open'),
      direction: z.enum(['in', 'out']).optional(),
    }),
    response: { status: 200, schema: pageSchema(Payment) },
    handle: async ({ query, url }) => {
      const { limit, cursor, direction } = query
      const [after] = readCursor(cursor, z.tuple([z.uuid()])) ?? []
      const open = query.state === 'open'
      const rows = await listPayments(pool, { open, direction, limit: limit + 1, after })
      return toPage(
        rows,
        limit,
        url,
        ({ id }) => [id],
        (seen) => showPayment(seen, finality),
      )
    },
  }),
]

export function showPayment(
  seen: PaymentDetails,
  finality: NetworkFinality,
): z.infer<typeof Payment> {
  const forecast = forecastPayment(seen, finalityOn(finality, seen.network))
  const { deadline, isOverdue, nextStep } = forecast
  return {
    id: seen.id,
    direction: seen.direction,
    purpose: seen.purpose,
    network: seen.network,
    amount_microdollars: json(seen.amount),
    counterparty: seen.counterparty,
    host: seen.host,
    key_id: seen.key,
    state: seen.state,
    reason: seen.reason,
    transaction: seen.transaction,
    nonce: seen.nonce,
    since: seen.since.toISOString(),
    age_seconds: seen.ageSeconds,
    deadline: deadline?.toISOString() ?? null,
    overdue: isOverdue,
    next_step: nextStep ?? null,
  }
}
