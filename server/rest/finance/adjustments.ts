import { z } from 'zod'
import {
  decideAdjustment,
  type FinancePorts,
  listProposals,
  type Proposal,
  submitAdjustment,
} from '../../../core/finance/adjustments.ts'
import { refundCall } from '../../../core/finance/decisions.ts'
import { json, micros } from '../../../core/money.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { reason } from '../reason.ts'
import { type AnyRoute, parse, type RestRequest, route, staffOf } from '../route.ts'

const account = z.string().regex(/^[a-z][\w:.-]{0,299}$/, 'an account')
const amount = z.int().min(1)

const Decided = z.object({
  id: z.uuid().meta({ description: 'Of its entry in the journal.' }),
  state: z.enum(['proposed', 'booked', 'declined']),
})

const Adjustment = Decided.extend({
  debit: z.string(),
  credit: z.string(),
  amount: z.int().meta({ description: 'In units of the asset.' }),
  asset: z.string(),
  value_date: z.iso.datetime().nullable(),
  reason: z.string(),
  proposed_by: z.string(),
  proposed_at: z.iso.datetime(),
  decided_by: z.string().nullable(),
  decided_at: z.iso.datetime().nullable(),
  note: z.string().nullable(),
})

export type DecidedJson = z.infer<typeof Decided>
export type AdjustmentJson = z.infer<typeof Adjustment>

/** Corrections by hand, each with author and reason; large ones need two people. */
export const adjustmentRoutes = (ports: FinancePorts): readonly AnyRoute[] => [
  submitRoute(ports),
  route({
    method: 'GET',
    path: '/v1/finance/adjustments',
    summary: 'Adjustments that were proposed, the newest first; or those that wait alone.',
    auth: 'finance',
    query: z.strictObject({ ...paging, state: z.enum(['open', 'all']).default('all') }),
    answer: { status: 200, schema: pageOf(Adjustment) },
    handle: async ({ query: { limit, cursor, state }, url }) => {
      const [after] = readCursor(cursor, z.tuple([z.uuid()])) ?? []
      const asked = { open: state === 'open', limit: limit + 1, after }
      return page(await listProposals(ports.pool, asked), limit, url, ({ id }) => [id], show)
    },
  }),
  decideRoute(ports, 'confirm', 'Books what somebody else proposed.'),
  decideRoute(ports, 'decline', 'Declines what was proposed; or withdraws it, by who proposed it.'),
  route({
    method: 'POST',
    path: '/v1/finance/calls/{id}/refund',
    summary: 'Gives back what a call was charged, or a part of it; once.',
    auth: 'finance',
    body: z.strictObject({
      amount_microdollars: amount.optional().meta({ description: 'Left out: all of it.' }),
      reason,
    }),
    answer: { status: 200, schema: z.object({ call_id: z.uuid() }) },
    faults: ['not_found', 'not_booked'],
    handle: async (request) => {
      const id = idIn(request)
      const { amount_microdollars: part, reason: why } = request.body
      const refunded = part === undefined ? undefined : micros(part)
      await refundCall(ports, staffOf(request), id, why, refunded)
      return { body: { call_id: id } }
    },
  }),
]

const submitRoute = (ports: FinancePorts): AnyRoute =>
  route({
    method: 'POST',
    path: '/v1/finance/adjustments',
    summary: 'Books a correction; above HUB_ADJUST_ALONE it waits for a second person (202).',
    auth: 'finance',
    body: z.strictObject({
      debit: account,
      credit: account,
      amount: amount.meta({ description: 'In units of the accounts’ asset.' }),
      value_date: z.iso.date().optional().meta({
        description: 'The UTC day to which it belongs; left out: now.',
      }),
      shard: z.int().min(0).max(63).optional().meta({
        description: 'Whose balances change, where both accounts are of all shards.',
      }),
      key: z.string().min(1).max(200).optional().meta({
        description: 'A name of yours: the same name again is the same adjustment.',
      }),
      reason,
    }),
    answer: { status: 201, or: 202, schema: Decided },
    faults: ['not_booked', 'idempotency_key_reused'],
    handle: async (request) => {
      const { debit, credit, value_date: day, shard, key, reason: why } = request.body
      const order = {
        debit,
        credit,
        amount: BigInt(request.body.amount),
        shard,
        valueDate: day === undefined ? undefined : new Date(`${day}T00:00:00Z`),
      }
      const made = await submitAdjustment(ports, staffOf(request), order, why, key)
      return { status: made.state === 'proposed' ? 202 : 201, body: made }
    },
  })

const decideRoute = (
  ports: FinancePorts,
  decision: 'confirm' | 'decline',
  summary: string,
): AnyRoute =>
  route({
    method: 'POST',
    path: `/v1/finance/adjustments/{id}/${decision}`,
    summary,
    auth: 'finance',
    body: z.strictObject({ reason }),
    answer: { status: 200, schema: Decided },
    faults: ['not_found', 'not_booked', 'second_person_required'],
    handle: async (request) => {
      const id = idIn(request)
      const why = request.body.reason
      return { body: await decideAdjustment(ports, staffOf(request), id, decision, why) }
    },
  })

const idIn = ({ params }: Pick<RestRequest<unknown, unknown>, 'params'>): string =>
  parse(z.uuid(), params['id']).toLowerCase()

const show = (proposal: Proposal): z.infer<typeof Adjustment> => ({
  id: proposal.id,
  state: proposal.state,
  debit: proposal.debit,
  credit: proposal.credit,
  amount: json(proposal.amount),
  asset: proposal.asset,
  value_date: proposal.valueDate?.toISOString() ?? null,
  reason: proposal.reason,
  proposed_by: proposal.proposedBy,
  proposed_at: proposal.proposedAt.toISOString(),
  decided_by: proposal.decidedBy,
  decided_at: proposal.decidedAt?.toISOString() ?? null,
  note: proposal.note,
})
