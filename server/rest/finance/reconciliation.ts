import { z } from 'zod'
import type { FinancePorts } from '../../../core/finance/adjustments.ts'
import { decideException } from '../../../core/finance/decisions.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { json } from '../../../core/money.ts'
import {
  listExceptions,
  type ReconciliationException,
} from '../../../core/reconciliation/exceptions.ts'
import type { Resolution } from '../../../core/reconciliation/resolve.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { reason } from '../reason.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

const exceptionId = z.string().regex(/^\d{1,18}$/, 'not the id of an exception')

const Exception = z.object({
  exception_id: z.string(),
  wallet: z.enum(['treasury', 'spend']),
  kind: z.string(),
  amount_microdollars: z.int().meta({
    description: 'What the chain has more than the books; below zero: less.',
  }),
  detail: z.string(),
  transaction: z.string().nullable(),
  entry_id: z.string().nullable().meta({ description: 'The entry that it is about.' }),
  found_at: z.iso.datetime(),
  resolved_at: z.iso.datetime().nullable(),
  resolution: z.enum(['booked', 'explained', 'vanished']).nullable(),
  author: z.string().nullable(),
  explanation: z.string().nullable(),
  answer_id: z.string().nullable().meta({ description: 'The entry that was booked for it.' }),
})

export type ExceptionJson = z.infer<typeof Exception>

const Resolve = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('surplus'), reason }),
  z.strictObject({ decision: z.literal('shortfall'), reason }),
  z.strictObject({
    decision: z.literal('identified'),
    key_id: z.string().regex(/^key_[0-9A-Za-z]{16}$/, 'the id of a key'),
    reason,
  }),
  z.strictObject({
    decision: z.literal('explained'),
    together: z.array(exceptionId).max(50).default([]).meta({
      description: 'Further exceptions, which it cancels out.',
    }),
    reason,
  }),
])

/** Differences between chain and books, and what people decide about them. */
export const reconciliationRoutes = (ports: FinancePorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/exceptions',
    summary: 'Differences between chain and books that nobody has accounted for; or all.',
    auth: 'finance',
    query: z.strictObject({
      ...paging,
      state: z.enum(['open', 'all']).default('open'),
      wallet: z.enum(['treasury', 'spend']).optional(),
    }),
    answer: { status: 200, schema: pageOf(Exception) },
    handle: async ({ query, url }) => {
      const { limit, cursor, wallet } = query
      const [after] = readCursor(cursor, z.tuple([exceptionId])) ?? []
      const rows = await listExceptions(ports.pool, {
        resolved: query.state === 'all',
        wallet,
        limit: limit + 1,
        after: after === undefined ? undefined : BigInt(after),
      })
      return page(rows, limit, url, ({ id }) => [String(id)], show)
    },
  }),
  route({
    method: 'POST',
    path: '/v1/finance/exceptions/{id}/resolve',
    summary: 'Accounts for a difference: books it, or says why nothing is to be booked.',
    auth: 'finance',
    body: Resolve,
    answer: { status: 200, schema: z.object({ exception_id: z.string() }) },
    faults: ['not_found', 'not_resolvable'],
    handle: async (request) => {
      const id = parse(exceptionId, request.params['id'])
      const { body } = request
      await decideException(ports, staffOf(request), BigInt(id), resolutionOf(body), body.reason)
      return { body: { exception_id: id } }
    },
  }),
]

function resolutionOf(body: z.infer<typeof Resolve>): Resolution {
  if (body.decision === 'identified') {
    return { decision: 'identified', credits: creditsOf(body.key_id) }
  }
  if (body.decision === 'explained') {
    return { decision: 'explained', together: body.together.map(BigInt) }
  }
  return { decision: body.decision }
}

const show = (found: ReconciliationException): z.infer<typeof Exception> => ({
  exception_id: String(found.id),
  wallet: found.wallet,
  kind: found.kind,
  amount_microdollars: json(found.amount),
  detail: found.reason,
  transaction: found.tx,
  entry_id: found.entry,
  found_at: found.foundAt.toISOString(),
  resolved_at: found.resolvedAt?.toISOString() ?? null,
  resolution: found.resolution,
  author: found.author,
  explanation: found.explanation,
  answer_id: found.answer,
})
