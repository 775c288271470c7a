import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { findKeyCredits } from '../../../core/identity/key-credits.ts'
import { micros } from '../../../core/money.ts'
import { type AnyRoute, route } from '../route.ts'
import { type CreditsPorts, MAX_PURCHASE, MIN_PURCHASE, purchase } from './credits.ts'

/** What `hub_topup` and the page of the top-up make up: nobody can take it in advance. */
export const purchaseId = z
  .string()
  .regex(/^pur_[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, 'pur_ and a UUID')
  .meta({ description: 'A new one for each top-up, which is then bought once.' })

const Topup = z.object({
  purchase_id: z.string(),
  state: z.enum(['settled', 'pending']),
  credited_microdollars: z.int().min(0),
  transaction: z.string().nullable(),
})

/** `POST /v1/topups`: credits for a key whose secret is elsewhere; who pays proves nothing else. */
export const topupRoutes = (ports: CreditsPorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/topups',
    summary: 'Buys credits for a key, by its id: first a 402 with the offer, then the same paid.',
    auth: 'none',
    body: z.strictObject({
      key_id: z.string().max(64),
      amount_microdollars: z.int().min(Number(MIN_PURCHASE)).max(Number(MAX_PURCHASE)),
      purchase_id: purchaseId,
    }),
    example: {
      key_id: 'key_example',
      amount_microdollars: 5_000_000,
      purchase_id: 'pur_00000000-0000-4000-8000-000000000000',
    },
    answer: { status: 201, or: 202, schema: Topup },
    price: { min: MIN_PURCHASE, max: MAX_PURCHASE },
    faults: [
      'not_found',
      'payment_required',
      'payment_invalid',
      'payment_replayed',
      'idempotency_key_reused',
      'facilitator_unavailable',
    ],
    handle: async ({ body, url, header }) => {
      const buyer = await findKeyCredits(ports.pool, body.key_id)
      if (!buyer) throw new Fault('not_found', 'There is no such key, or it is no longer in use.')
      const reply = await purchase(ports, {
        buyer,
        amount: micros(body.amount_microdollars),
        name: body.purchase_id,
        url,
        payment: header('payment-signature'),
      })
      const { balance_microdollars: _, ...told } = reply.body as Record<string, unknown>
      return { ...reply, body: told }
    },
  }),
]
