import { z } from 'zod'
import { decideException } from '../../../core/finance/decisions.ts'
import { submitSmallDeposits } from '../../../core/finance/small-deposits.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { json } from '../../../core/money.ts'
import {
  listExceptions,
  type ReconciliationException,
} from '../../../core/reconciliation/exceptions.ts'
import type { Resolution } from '../../../core/reconciliation/resolve.ts'
import { sumSmallDeposits } from '../../../core/reconciliation/small-deposits.ts'
import { WALLET_NAMES } from '../../../core/reconciliation/wallets.ts'
import { auditReason, keyId } from '../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'
import { DecisionView } from './proposals.ts'

const exceptionId = z.string().regex(/^\d{1,18}$/, 'must be a number')

const walletName = z.enum(WALLET_NAMES)

const ExceptionView = z.object({
  exception_id: z.string(),
  wallet: walletName,
  kind: z.string(),
  amount_microdollars: z.int().meta({ description: 'Chain balance minus ledger balance.' }),
  detail: z.string(),
  transaction: z.string().nullable(),
  entry_id: z.string().nullable().meta({ description: 'Entry that the exception concerns.' }),
  found_at: z.iso.datetime(),
  resolved_at: z.iso.datetime().nullable(),
  resolution: z.enum(['booked', 'explained', 'vanished']).nullable(),
  author: z.string().nullable(),
  explanation: z.string().nullable(),
  answer_id: z.string().nullable().meta({ description: 'Entry that resolved the exception.' }),
})

export type ExceptionJson = z.infer<typeof ExceptionView>

const ResolutionOrder = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('surplus'), reason: auditReason }),
  z.strictObject({ decision: z.literal('shortfall'), reason: auditReason }),
  z.strictObject({ decision: z.literal('identified'), key_id: keyId, reason: auditReason }),
  z.strictObject({
    decision: z.literal('explained'),
    together: z.array(exceptionId).max(50).default([]).meta({
      description: 'Other exceptions that cancel this one out.',
    }),
    reason: auditReason,
  }),
])

/** Reconciliation differences between ledger and chain, and their resolution. */
export const reconciliationRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/exceptions', {
    summary: 'Lists differences between ledger and chain: unresolved ones, or all.',
    auth: 'finance',
    query: listQuery({
      state: z.enum(['open', 'all']).default('open'),
      wallet: walletName.optional(),
      small_deposits: z.enum(['only', 'none']).optional().meta({
        description: 'Unexplained deposits of at most $1, or all other differences. Default: both.',
      }),
    }),
    response: { status: 200, schema: pageSchema(ExceptionView) },
    handle: async ({ query, url }) => {
      const { limit, cursor, wallet, small_deposits: small } = query
      const [after] = readCursor(cursor, z.tuple([exceptionId])) ?? []
      const rows = await listExceptions(deps.pool, {
        resolved: query.state === 'all',
        wallet,
        small: small && small === 'only',
        limit: limit + 1,
        after: after === undefined ? undefined : BigInt(after),
      })
      return toPage(rows, limit, url, ({ id }) => [String(id)], showException)
    },
  }),
  route('POST /v1/finance/exceptions/{id}/resolve', {
    summary: 'Resolves a difference by an entry or a reason, or proposes to do so (202).',
    auth: 'finance',
    body: ResolutionOrder,
    response: {
      status: 200,
      or: 202,
      schema: DecisionView.extend({ exception_id: z.string() }),
    },
    faults: ['not_found', 'not_resolvable', 'not_booked', 'own_account'],
    handle: async (request) => {
      const id = parse(exceptionId, request.params.id, 'exception id')
      const { body } = request
      const wish = resolutionOf(body)
      const made = await decideException(deps, staffOf(request), BigInt(id), wish, body.reason)
      return {
        status: made.state === 'proposed' ? 202 : 200,
        body: { exception_id: id, ...made },
      }
    },
  }),
  ...smallDepositRoutes(deps),
]

const SmallDepositsView = z.object({
  wallets: z.array(
    z.object({
      wallet: walletName,
      deposits: z.int(),
      amount_microdollars: z.int(),
    }),
  ),
})

export type SmallDepositsJson = z.infer<typeof SmallDepositsView>

/** Unexplained deposits that anybody can send in large numbers. */
const smallDepositRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/small-deposits', {
    summary: 'Sums the unresolved small deposits, of at most $1 each, by wallet.',
    auth: 'finance',
    response: { status: 200, schema: SmallDepositsView },
    handle: async () => ({
      body: {
        wallets: (await sumSmallDeposits(deps.pool)).map(({ wallet, deposits, amount }) => ({
          wallet,
          deposits: json(deposits),
          amount_microdollars: json(amount),
        })),
      },
    }),
  }),
  route('POST /v1/finance/small-deposits/resolve', {
    summary:
      'Posts the oldest small deposits of a wallet to suspense, at most 1,000 by one entry, or ' +
      'proposes to do so (202).',
    auth: 'finance',
    body: z.strictObject({ wallet: walletName, reason: auditReason }),
    response: {
      status: 200,
      or: 202,
      schema: DecisionView.extend({
        deposits: z.int().meta({ description: 'Number of deposits that the entry includes.' }),
      }),
    },
    faults: ['not_found', 'not_resolvable', 'not_booked'],
    handle: async (request) => {
      const { wallet, reason } = request.body
      const made = await submitSmallDeposits(deps, staffOf(request), wallet, reason)
      return { status: made.state === 'proposed' ? 202 : 200, body: made }
    },
  }),
]

function resolutionOf(body: z.infer<typeof ResolutionOrder>): Resolution {
  if (body.decision === 'identified') {
    return { decision: 'identified', credits: creditsOf(body.key_id) }
  }
  if (body.decision === 'explained') {
    return { decision: 'explained', together: body.together.map(BigInt) }
  }
  return { decision: body.decision }
}

const showException = (found: ReconciliationException): z.infer<typeof ExceptionView> => ({
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
