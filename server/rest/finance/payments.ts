import type { Pool } from 'pg'
import { z } from 'zod'
import { json } from '../../../core/money.ts'
import { forecastPayment } from '../../../core/payments/operations/forecast.ts'
import { listPayments, type PaymentDetails } from '../../../core/payments/operations/overview.ts'
import { pageReply, pageSchema, paging, readCursor } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'

const Payment = z.object({
  id: z.uuid().meta({ description: 'Of the call or purchase, and of its entry in the journal.' }),
  direction: z.enum(['in', 'out']).meta({ description: 'in: to the hub; out: to a seller.' }),
  purpose: z.enum(['credits', 'call', 'external']),
  amount_microdollars: z.int().min(0),
  counterparty: z.string().meta({ description: 'The wallet that pays us, or that we pay.' }),
  host: z.string().nullable(),
  key_id: z.string().nullable().meta({ description: 'Whose credits pay a seller.' }),
  state: z.string(),
  reason: z.string().nullable().meta({ description: 'Why nothing was delivered.' }),
  transaction: z.string().nullable(),
  nonce: z.string().meta({ description: 'By which the chain knows the authorization.' }),
  since: z.iso.datetime(),
  age_seconds: z.int().min(0),
  deadline: z.iso.datetime().nullable().meta({ description: 'By when it should be final.' }),
  overdue: z.boolean().meta({ description: 'It is long past its deadline: somebody has to look.' }),
  next_step: z.string().nullable().meta({ description: 'null: nothing remains to be done.' }),
})

export type PaymentJson = z.infer<typeof Payment>

export interface PaymentsDeps {
  readonly pool: Pool
  /** Blocks with a small transfer and on top of it before it is final. */
  readonly finality: bigint
}

/** Each payment in both directions, and what comes next of it. */
export const paymentsRoutes = ({ pool, finality }: PaymentsDeps): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/payments',
    summary:
      'Payments whose outcome or finality is open, the oldest first; or all, the newest first.',
    auth: 'finance',
    query: z.strictObject({
      ...paging,
      state: z.enum(['open', 'all']).default('open'),
      direction: z.enum(['in', 'out']).optional(),
    }),
    response: { status: 200, schema: pageSchema(Payment) },
    handle: async ({ query, url }) => {
      const { limit, cursor, direction } = query
      const [after] = readCursor(cursor, z.tuple([z.uuid()])) ?? []
      const open = query.state === 'open'
      const rows = await listPayments(pool, { open, direction, limit: limit + 1, after })
      return pageReply(
        rows,
        limit,
        url,
        ({ id }) => [id],
        (seen) => showPayment(seen, finality),
      )
    },
  }),
]

/** A payment in the form of the API. */
export function showPayment(seen: PaymentDetails, finality: bigint): z.infer<typeof Payment> {
  const { deadline, isOverdue: overdue, nextStep } = forecastPayment(seen, finality)
  return {
    id: seen.id,
    direction: seen.direction,
    purpose: seen.purpose,
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
    overdue,
    next_step: nextStep ?? null,
  }
}
