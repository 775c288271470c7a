import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { json } from '../../../core/money.ts'
import type { CallLog } from '../../../core/usage/calls.ts'
import type { KeptAnswer, KeptAnswers } from '../../../core/usage/kept-answers.ts'
import type { Receipts } from '../../../core/usage/receipts.ts'
import { type AnyRoute, callerOf, route } from '../route.ts'
import { type CallKey, type CallRow, findCall, isOver } from './call-row.ts'

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

const Answer = z.object({
  status: z.int(),
  content_type: z.string(),
  encoding: z.enum(['json', 'base64']),
  body: z.unknown(),
})

const Call = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  state: z.enum(['held', 'charged', 'released', 'expired', 'refunded']).meta({
    description: 'held: its outcome is open; released, expired and refunded: the money went back.',
  }),
  source: z.enum(['free', 'credits', 'x402', 'none']).nullable().meta({
    description: 'Who paid; null: it is not known yet.',
  }),
  reserved_microdollars: amount,
  charged_microdollars: amount,
  price_version: z.int().nullable(),
  expires_at: z.iso.datetime().nullable(),
  endpoint: z.string().nullable(),
  status: z.int().nullable(),
  reason: z.string().nullable().meta({ description: 'Why it failed, and was given back.' }),
  receipt: z.string().nullable().meta({
    description: 'JWS; null: the call is not over. POST /v1/receipts/verify.',
  }),
  answer: Answer.nullable().meta({
    description: 'Kept for a day where an Idempotency-Key or an x402 payment came with the call.',
  }),
  payment: Payment.nullable().meta({ description: 'What was signed for a seller outside.' }),
})

/** A call as REST shows it. */
export type CallJson = z.infer<typeof Call>

export interface CallPorts {
  readonly pool: Pool
  readonly calls: Pick<CallLog, 'flush'>
  readonly answers: Pick<KeptAnswers, 'find'>
  readonly receipts: Pick<Receipts, 'sign'>
}

/** What became of a single call, and where its money is. */
export const callRoutes = (ports: CallPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/calls/{id}',
    summary: 'A call of this key: held, charged or given back, with its receipt and kept answer.',
    auth: 'key',
    answer: { status: 200, schema: Call },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      return { body: await readCall(ports, callerOf(request), id) }
    },
  }),
]

/**
 * What became of a call that a key made, or that its credits paid.
 * @throws Fault `not_found`
 */
export async function readCall(ports: CallPorts, key: CallKey, id: string): Promise<CallJson> {
  await ports.calls.flush() // what this process has just answered
  const row = z.uuid().safeParse(id).success ? await findCall(ports.pool, key, id) : undefined
  if (!row) throw new Fault('not_found', 'This key has made no such call.')
  return show(ports, key, row)
}

/** By the kinds of the journal, and else by what the record says. */
const STATES: Readonly<Record<string, CallJson['state']>> = {
  2: 'charged',
  3: 'released',
  4: 'expired',
  delivered: 'charged',
  taken: 'charged',
  failed: 'released',
}

async function show(
  { answers, receipts }: CallPorts,
  key: CallKey,
  row: CallRow,
): Promise<CallJson> {
  const { record } = row
  const known = record ? STATES[record.outcome] : undefined
  const state = row.hold ? STATES[row.hold.kind ?? 0] : known
  // An answer is kept before it is charged: one that could not be is nobody's.
  const isMine = record?.keyId === key.keyId && record.outcome !== 'failed'
  const kept = isMine && row.answerId ? await answers.find(row.answerId) : undefined
  return {
    id: row.id,
    at: row.at.toISOString(),
    state: row.refunded > 0n ? 'refunded' : (state ?? 'held'),
    source: record?.source ?? (row.hold ? 'credits' : null),
    reserved_microdollars: json(row.hold?.reserved ?? 0n),
    charged_microdollars: json((row.hold?.charged ?? record?.charged ?? 0n) - row.refunded),
    price_version: record?.priceVersion ?? null,
    expires_at: row.hold?.expiresAt.toISOString() ?? null,
    endpoint: row.endpoint,
    status: record?.status ?? null,
    reason: record?.reason ?? null,
    receipt: record && isOver(row) ? await receipts.sign(record, row.name) : null,
    answer: kept ? shown(kept) : null,
    payment: row.payment && paymentOf(row.payment),
  }
}

function shown({ status, headers, body }: KeptAnswer): z.infer<typeof Answer> {
  const isRaw = body instanceof Uint8Array
  const [, type] = Object.entries(headers).find(([name]) => /^content-type$/i.test(name)) ?? []
  return {
    status,
    content_type: type ?? 'application/json',
    encoding: isRaw ? 'base64' : 'json',
    body: isRaw ? Buffer.from(body).toString('base64') : body,
  }
}

const paymentOf = (row: NonNullable<CallRow['payment']>): z.infer<typeof Payment> => ({
  state: row.state,
  url: row.url,
  pay_to: row.pay_to,
  amount_microdollars: json(BigInt(row.amount)),
  nonce: row.nonce,
  transaction: row.transaction,
  upstream_status: row.status,
  reason: row.reason,
  valid_before: new Date(row.valid_before).toISOString(),
})
