import { z } from 'zod'
import {
  decideAdjustment,
  type FinanceDeps,
  listProposals,
  type Proposal,
  submitAdjustment,
} from '../../../core/finance/adjustments.ts'
import { refundCall } from '../../../core/finance/decisions.ts'
import { json, micros } from '../../../core/money.ts'
import { auditReason } from '../fields.ts'
import { pageSchema, paging, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, parse, type RestRequest, route, staffOf } from '../route.ts'

const account = z.string().regex(/^[a-z][\w:.-]{0,299}$/, 'must be an account name')
const amount = z.int().min(1)

const DecisionView = z.object({
  id: z.uuid().meta({ description: 'Id of its journal entry.' }),
  state: z.enum(['proposed', 'booked', 'declined']),
})

const AdjustmentView = DecisionView.extend({
  debit: z.string(),
  credit: z.string(),
  amount: z.int().meta({ description: 'Amount in units of the asset.' }),
  asset: z.string(),
  value_date: z.iso.datetime().nullable(),
  reason: z.string(),
  proposed_by: z.string(),
  proposed_at: z.iso.datetime(),
  decided_by: z.string().nullable(),
  decided_at: z.iso.datetime().nullable(),
  note: z.string().nullable(),
})

export type DecisionJson = z.infer<typeof DecisionView>
export type AdjustmentJson = z.infer<typeof AdjustmentView>

/** Manual corrections with author and reason; large ones require two people. */
export const adjustmentRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  submitRoute(deps),
  route('GET /v1/finance/adjustments', {
    summary: 'Lists proposed adjustments, newest first: all, or only the pending ones.',
    auth: 'finance',
    query: z.strictObject({ ...paging, state: z.enum(['open', 'all']).default('all') }),
    response: { status: 200, schema: pageSchema(AdjustmentView) },
    handle: async ({ query: { limit, cursor, state }, url }) => {
      const [after] = readCursor(cursor, z.tuple([z.uuid()])) ?? []
      const filter = { open: state === 'open', limit: limit + 1, after }
      const rows = await listProposals(deps.pool, filter)
      return toPage(rows, limit, url, ({ id }) => [id], showProposal)
    },
  }),
  decideRoute(deps, 'confirm', 'Confirms and posts an adjustment proposed by another person.'),
  decideRoute(deps, 'decline', 'Declines a proposed adjustment, or withdraws your own.'),
  route('POST /v1/finance/calls/{id}/refund', {
    summary: 'Refunds a call in full or in part, once.',
    auth: 'finance',
    body: z.strictObject({
      amount_microdollars: amount.optional().meta({ description: 'Default: the full charge.' }),
      reason: auditReason,
    }),
    response: { status: 200, schema: z.object({ call_id: z.uuid() }) },
    faults: ['not_found', 'not_booked'],
    handle: async (request) => {
      const id = idOf(request)
      const { amount_microdollars: part, reason } = request.body
      const refunded = part === undefined ? undefined : micros(part)
      await refundCall(deps, staffOf(request), id, reason, refunded)
      return { body: { call_id: id } }
    },
  }),
]

const submitRoute = (deps: FinanceDeps): AnyRoute =>
  route('POST /v1/finance/adjustments', {
    summary: 'Posts a correction; above HUB_ADJUST_ALONE, a second person must confirm (202).',
    auth: 'finance',
    body: z.strictObject({
      debit: account,
      credit: account,
      amount: amount.meta({ description: 'Amount in units of the accounts’ asset.' }),
      value_date: z.iso.date().optional().meta({
        description: 'UTC day that it belongs to. Default: now.',
      }),
      shard: z.int().min(0).max(63).optional().meta({
        description: 'Shard to post to, if both accounts exist in all shards.',
      }),
      key: z.string().min(1).max(200).optional().meta({
        description: 'Your idempotency key: the same key is the same adjustment.',
      }),
      reason: auditReason,
    }),
    response: { status: 201, or: 202, schema: DecisionView },
    faults: ['not_booked', 'idempotency_key_reused'],
    handle: async (request) => {
      const { debit, credit, value_date: day, shard, key, reason } = request.body
      const order = {
        debit,
        credit,
        amount: BigInt(request.body.amount),
        shard,
        valueDate: day === undefined ? undefined : new Date(`${day}T00:00:00Z`),
      }
      const made = await submitAdjustment(deps, staffOf(request), order, reason, key)
      return { status: made.state === 'proposed' ? 202 : 201, body: made }
    },
  })

const decideRoute = (
  deps: FinanceDeps,
  decision: 'confirm' | 'decline',
  summary: string,
): AnyRoute =>
  route(`POST /v1/finance/adjustments/{id}/${decision}`, {
    summary,
    auth: 'finance',
    body: z.strictObject({ reason: auditReason }),
    response: { status: 200, schema: DecisionView },
    faults: ['not_found', 'not_booked', 'second_person_required'],
    handle: async (request) => {
      const id = idOf(request)
      const reason = request.body.reason
      return { body: await decideAdjustment(deps, staffOf(request), id, decision, reason) }
    },
  })

const idOf = ({ params }: Pick<RestRequest<unknown, unknown>, 'params'>): string =>
  parse(z.uuid(), params['id'], 'id').toLowerCase()

const showProposal = (proposal: Proposal): z.infer<typeof AdjustmentView> => ({
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
