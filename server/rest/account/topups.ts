import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { findKeyCredits } from '../../../core/identity/main-keys.ts'
import { MIN_TOP_UP, micros } from '../../../core/money.ts'
import { readPaymentHeader } from '../../http/payment-headers.ts'
import { type AnyRoute, route } from '../route.ts'
import { type CreditsDeps, MAX_PURCHASE_MICROS, purchase, purchaseAmount } from './credits.ts'

/** Random id, created by `hub_topup` or the top-up page, so that nobody can claim it in advance. */
export const purchaseId = z
  .string()
  .regex(/^pur_[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, 'must be pur_ and a UUID')
  .meta({ description: 'New id for each top-up; requests with the same id buy once.' })

const Topup = z.object({
  purchase_id: z.string(),
  state: z.enum(['settled', 'pending']),
  credited_microdollars: z.int().min(0),
  transaction: z.string().nullable(),
})

const Order = z.strictObject({
  key_id: z.string().max(64),
  amount_microdollars: purchaseAmount,
  purchase_id: purchaseId,
})
export type TopupOrder = z.infer<typeof Order>

/** `POST /v1/topups`: buys credits for a key without its secret. Anyone may pay. */
export const topupRoutes = (deps: CreditsDeps): readonly AnyRoute[] => [
  route('POST /v1/topups', {
    summary: 'Buys credits for a key by its id: first a 402 offer, then the same request, paid.',
    auth: 'none',
    body: Order,
    example: {
      key_id: 'key_example',
      amount_microdollars: 5_000_000,
      purchase_id: 'pur_00000000-0000-4000-8000-000000000000',
    },
    response: { status: 201, or: 202, schema: Topup },
    price: { min: MIN_TOP_UP, max: MAX_PURCHASE_MICROS },
    faults: [
      'not_found',
      'payment_required',
      'payment_invalid',
      'payment_replayed',
      'idempotency_key_reused',
      'facilitator_unavailable',
    ],
    handle: async ({ body: order, url, header }) => {
      const buyer = await findKeyCredits(deps.pool, order.key_id)
      if (!buyer) throw new Fault('not_found', 'The key does not exist or has been revoked.')
      const reply = await purchase(deps, {
        buyer: { ...buyer, limits: [], seesMainKey: true },
        amount: micros(order.amount_microdollars),
        name: order.purchase_id,
        url,
        payment: readPaymentHeader(header),
        isKeyed: false,
      })
      const { balance_microdollars: _, ...body } = reply.body as Record<string, unknown>
      return { ...reply, body }
    },
  }),
]
