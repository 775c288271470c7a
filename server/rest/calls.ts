import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { json } from '../../core/money.ts'
import { type AnyRoute, callerOf, route } from './route.ts'

const amount = z.int().min(0)

const Payment = z.object({
  state: z.enum(['signed', 'unresolved', 'paid', 'confirmed', 'unused']),
  url: z.string(),
  pay_to: z.string(),
  amount_microdollars: amount,
  nonce: z.string(),
  transaction: z.string().nullable(),
  upstream_status: z.int().nullable(),
  reason: z.string().nullable(),
  valid_before: z.iso.datetime(),
})

const Call = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  state: z.enum(['held', 'charged', 'released', 'expired', 'refunded']).meta({
    description: 'held: its outcome is open; released, expired and refunded: the money went back.',
  }),
  reserved_microdollars: amount,
  charged_microdollars: amount,
  expires_at: z.iso.datetime(),
  endpoint: z.string().nullable(),
  payment: Payment.nullable().meta({ description: 'What was signed for a seller outside.' }),
})

/** What became of a single call, and where its money is. */
export const callRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/calls/{id}',
    summary: 'A call that credits paid: held, charged or given back, and what a seller was paid.',
    auth: 'key',
    answer: { status: 200, schema: Call },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const found = z.uuid().safeParse(id).success && (await find(pool, callerOf(request), id))
      if (!found) throw new Fault('not_found', 'This key has made no such call from its credits.')
      return { body: show(found) }
    },
  }),
]

interface Row {
  readonly id: string
  readonly at: Date
  readonly kind: number | null
  readonly reserved: bigint
  readonly charged: bigint
  readonly refunded: bigint
  readonly expires_at: Date
  readonly endpoint: string | null
  readonly url: string | null
  readonly state: z.infer<typeof Payment>['state']
  readonly pay_to: string
  readonly amount: bigint
  readonly nonce: string
  readonly transaction: string | null
  readonly status: number | null
  readonly reason: string | null
  readonly valid_before: Date
}

async function find(pool: Pool, { credits }: Caller, id: string): Promise<Row | undefined> {
  const { rows } = await pool.query<Row>(
    `SELECT h.id, h.at, r.kind, h.amount AS reserved, coalesce(r.amount, 0) AS charged,
       (SELECT coalesce(sum(x.amount), 0)::bigint FROM ledger.posting x WHERE x.id = h.id
         AND x.account_id = h.owner AND x.owner = h.owner AND x.phase IN (0, 3)) AS refunded,
       h.expires_at, e.service || ' ' || e.method || ' ' || e.path AS endpoint,
       p.url, p.state, p.payee AS pay_to, p.amount, p.nonce, p.transaction, p.status, p.reason,
       p.valid_before
     FROM ledger.journal h
     LEFT JOIN ledger.journal r ON r.owner = h.owner AND r.id = h.id AND r.phase = 2
     LEFT JOIN hub.endpoint e ON e.id = h.endpoint
     LEFT JOIN hub.payment_intent p ON p.call = h.id
     WHERE h.owner = $1 AND h.id = $2 AND h.phase = 1`,
    [credits.id, id],
  )
  return rows[0]
}

/** By the kinds of the journal; none: not resolved yet. */
const STATES: Readonly<Record<number, z.infer<typeof Call>['state']>> = {
  2: 'charged',
  3: 'released',
  4: 'expired',
}

const show = (row: Row): z.infer<typeof Call> => ({
  id: row.id,
  at: row.at.toISOString(),
  state: row.refunded > 0n ? 'refunded' : (STATES[row.kind ?? 0] ?? 'held'),
  reserved_microdollars: json(row.reserved),
  charged_microdollars: json(row.charged - row.refunded),
  expires_at: row.expires_at.toISOString(),
  endpoint: row.endpoint,
  payment:
    row.url === null
      ? null
      : {
          state: row.state,
          url: row.url,
          pay_to: row.pay_to,
          amount_microdollars: json(row.amount),
          nonce: row.nonce,
          transaction: row.transaction,
          upstream_status: row.status,
          reason: row.reason,
          valid_before: row.valid_before.toISOString(),
        },
})
