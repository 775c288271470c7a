import { z } from 'zod'
import { submitAdjustment } from '../../../core/finance/adjustments.ts'
import { refundCall } from '../../../core/finance/refunds.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { micros } from '../../../core/money.ts'
import { auditReason, transactionHash } from '../fields.ts'
import { type AnyRoute, parse, type RestRequest, route, staffOf } from '../route.ts'
import { DecisionView, showDecision } from './proposals.ts'

const account = z.string().regex(/^[a-z][\w:.-]{0,299}$/, 'must be an account name')
const amount = z.int().min(1)

const RefundView = DecisionView.extend({ call_id: z.uuid() })

export type RefundJson = z.infer<typeof RefundView>

/** Corrections with author and reason: see `submitAct` for those that require two people. */
export const adjustmentRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  submitRoute(deps),
  route('POST /v1/finance/calls/{id}/refund', {
    summary: 'Refunds a call in full or in part, once; above the daily limit, proposes it (202).',
    auth: 'finance',
    body: z.strictObject({
      amount_microdollars: amount.optional().meta({ description: 'Default: the full charge.' }),
      reason: auditReason,
    }),
    response: { status: 200, or: 202, schema: RefundView },
    faults: ['not_found', 'already_refunded', 'not_booked', 'own_account'],
    handle: async (request) => {
      const call = idOf(request)
      const { amount_microdollars: part, reason } = request.body
      const refunded = part === undefined ? undefined : micros(part)
      const made = await refundCall(deps, staffOf(request), call, reason, refunded)
      return { status: made.state === 'proposed' ? 202 : 200, body: { call_id: call, ...made } }
    },
  }),
]

const submitRoute = (deps: FinanceDeps): AnyRoute =>
  route('POST /v1/finance/adjustments', {
    summary: 'Posts a correction, or proposes it to a second person (202).',
    auth: 'finance',
    body: z.strictObject({
      debit: account,
      credit: account,
      amount: amount.meta({ description: 'Amount in units of the accounts’ asset.' }),
      value_date: z.iso.date().optional().meta({
        description: 'UTC day that it belongs to, since the first entry. Default: now.',
      }),
      shard: z.int().min(0).max(63).optional().meta({
        description: 'Shard to post to, if both accounts exist in all shards.',
      }),
      provider_id: z.string().max(40).optional().meta({
        description: 'Provider whose debt changes: required for assets:receivable:providers.',
      }),
      transaction: transactionHash.optional().meta({
        description: 'Transfer on chain that it records, if it changes a platform wallet.',
      }),
      key: z.string().min(1).max(200).optional().meta({
        description: 'Your idempotency key: the same key is the same adjustment.',
      }),
      reason: auditReason,
    }),
    repeatable: 'key',
    response: { status: 201, or: 202, schema: DecisionView },
    faults: ['not_booked', 'idempotency_key_reused', 'own_account'],
    handle: async (request) => {
      const { debit, credit, value_date: day, shard, transaction, key, reason } = request.body
      const order = {
        debit,
        credit,
        amount: BigInt(request.body.amount),
        provider: request.body.provider_id,
        shard,
        transaction,
        valueDate: day === undefined ? undefined : new Date(`${day}T00:00:00Z`),
      }
      const made = await submitAdjustment(deps, staffOf(request), order, reason, key)
      return { status: made.state === 'proposed' ? 202 : 201, body: showDecision(made) }
    },
  })

const idOf = ({ params }: Pick<RestRequest<unknown, unknown>, 'params'>): string =>
  parse(z.uuid(), params['id'], 'id').toLowerCase()
