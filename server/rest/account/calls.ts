import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { findVisibleKeys } from '../../../core/identity/sub-keys.ts'
import { type ProvenEntry, proveEntries } from '../../../core/ledger/transparency/entry-proofs.ts'
import { json } from '../../../core/money.ts'
import { CALL_OUTCOMES, type CallListRow, listCalls } from '../../../core/usage/call-list.ts'
import { CALL_STATES, callState } from '../../../core/usage/call-state.ts'
import type { CallLog } from '../../../core/usage/calls.ts'
import type { Receipts } from '../../../core/usage/receipts.ts'
import type { StoredResponse, StoredResponses } from '../../../core/usage/stored-responses.ts'
import { showUsage } from '../../../core/usage/usage-view.ts'
import { dayBounds, dayFields } from '../days.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, callerOf, route } from '../route.ts'
import { UsageSchema } from '../usage-schema.ts'
import { type CallKey, type CallRow, findCall, isFinal } from './call-row.ts'
import { spenderOf } from './key-account.ts'

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

const ResponseView = z.object({
  status: z.int(),
  content_type: z.string(),
  encoding: z.enum(['json', 'base64']),
  body: z.unknown(),
})

const Call = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  state: z.enum(CALL_STATES).meta({
    description: 'held: outcome pending. released, expired, refunded: the money was returned.',
  }),
  source: z.enum(['free', 'credits', 'x402', 'none']).nullable().meta({
    description: 'Payment source. null: not known yet.',
  }),
  reserved_microdollars: amount,
  charged_microdollars: amount.meta({ description: 'Charged, less what was refunded.' }),
  refunded_microdollars: amount.meta({ description: 'Refunded after the charge.' }),
  price_version: z.int().nullable(),
  usage: UsageSchema.nullable().meta({ description: 'What was paid for at a metered price.' }),
  expires_at: z.iso.datetime().nullable(),
  endpoint: z.string().nullable(),
  agent: z.string().nullable().meta({
    description: 'Host of the agent that signed the request (Web Bot Auth). null: not verified.',
  }),
  status: z.int().nullable(),
  reason: z.string().nullable().meta({ description: 'Reason for failure and refund.' }),
  receipt: z.string().nullable().meta({
    description: 'JWS; verify it with POST /v1/receipts/verify. null: the call is pending.',
  }),
  answer: ResponseView.nullable().meta({
    description: 'Response, stored for one day if the call had an Idempotency-Key or x402 payment.',
  }),
  payment: Payment.nullable().meta({ description: 'Payment signed for an external seller.' }),
})

const base64 = z.string().meta({ description: 'Base64.' })

const Proof = z.object({
  receipt: z.string().nullable().meta({ description: 'JWS. null: the call is pending.' }),
  entries: z
    .array(
      z.object({
        leaf_index: z.int().min(0).meta({ description: 'Number of the leaf, from 0.' }),
        row: base64.meta({
          description: 'PostgreSQL binary record; the data of the leaf (RFC 6962) is its SHA-256.',
        }),
        path: z.array(base64).meta({ description: 'Hashes of siblings, from the leaf upwards.' }),
        checkpoint: z.string().meta({ description: 'C2SP signed note with the root.' }),
        heads: z
          .object({
            leaf_index: z.int().min(0),
            path: z.array(base64),
            checkpoint: z.string().meta({
              description: 'C2SP signed note with the root, and cosignatures of witnesses.',
            }),
          })
          .meta({ description: 'Path of the checkpoint to the root over all shards.' }),
      }),
    )
    .meta({
      description:
        'Entries of the call in the journal that a checkpoint covers, which takes about a minute.',
    }),
})

const showProof = ({
  index,
  row,
  path,
  checkpoint,
  heads,
}: ProvenEntry): z.infer<typeof Proof>['entries'][number] => ({
  leaf_index: index,
  row: row.toString('base64'),
  path: toBase64(path),
  checkpoint,
  heads: {
    leaf_index: heads.index,
    path: toBase64(heads.path),
    checkpoint: heads.checkpoint,
  },
})

const toBase64 = (hashes: readonly Buffer[]): string[] =>
  hashes.map((hash) => hash.toString('base64'))

const ListedCall = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  endpoint: z.string(),
  source: z.enum(['free', 'credits', 'x402', 'none']),
  usage: UsageSchema.nullable(),
  charged_microdollars: amount.meta({ description: 'Charged, before refunds.' }),
  refunded_microdollars: amount.meta({ description: 'Refunded to credits after the charge.' }),
  outcome: z.enum(CALL_OUTCOMES).meta({
    description: 'failed: not charged. pending: the outcome decides whether it is charged.',
  }),
  status: z.int(),
  reason: z.string().nullable().meta({ description: 'Reason for failure.' }),
  latency_ms: z.int(),
  key_id: z.string().nullable().meta({ description: 'null: paid by x402 without a key.' }),
})

export type CallJson = z.infer<typeof Call>

export interface CallDeps {
  readonly pool: Pool
  readonly calls: Pick<CallLog, 'flush'>
  readonly answers: Pick<StoredResponses, 'find'>
  readonly receipts: Pick<Receipts, 'sign'>
}

const callCursor = z.tuple([z.iso.datetime(), z.uuid()])

/** Calls with their outcome, charge and receipt. */
export const callRoutes = (deps: CallDeps): readonly AnyRoute[] => [
  route('GET /v1/calls', {
    summary: 'Lists calls of this key, its sub-keys and its wallet, however paid, newest first.',
    auth: 'key',
    query: listQuery({
      charged: z.enum(['true', 'false']).default('false').meta({
        description: 'true: only calls that were charged, to credits or by x402.',
      }),
      outcome: z.enum(CALL_OUTCOMES).optional().meta({ description: 'Only these calls.' }),
      service: z.string().min(1).max(100).optional().meta({ description: 'Only its calls.' }),
      ...dayFields,
    }),
    response: { status: 200, schema: pageSchema(ListedCall) },
    handle: async (request) => {
      const { limit, cursor, charged, outcome, service } = request.query
      await deps.calls.flush() // records of calls just served by this process
      const caller = callerOf(request)
      const { rows, searchedTo } = await listCalls(deps.pool, [spenderOf(caller)], {
        limit: limit + 1,
        wallets: [walletOf(caller) ?? []].flat(),
        after: readCursor(cursor, callCursor),
        isCharged: charged === 'true',
        outcome,
        service,
        ...dayBounds(request.query),
      })
      const position = ({ id, at }: CallListRow) => [at.toISOString(), id]
      return toPage(rows, limit, request.url, position, showListed, searchedTo)
    },
  }),
  route('GET /v1/calls/{id}', {
    summary: 'Returns a call of this key: outcome, charge, receipt and stored response.',
    auth: 'key',
    response: { status: 200, schema: Call },
    faults: ['not_found'],
    handle: async (request) => {
      const key = await callKeyOf(deps.pool, callerOf(request))
      return { body: await readCall(deps, key, request.params.id) }
    },
  }),
  route('GET /v1/calls/{id}/proof', {
    summary: 'Proves by Merkle paths to signed checkpoints that the ledger has a call of this key.',
    auth: 'key',
    response: { status: 200, schema: Proof },
    faults: ['not_found'],
    handle: async (request) => {
      const key = await callKeyOf(deps.pool, callerOf(request))
      const row = await findRow(deps, key, request.params.id)
      const { entry, source } = row.record ?? {}
      const owner = source === 'credits' ? callerOf(request).credits : undefined
      const proven = entry ? await proveEntries(deps.pool, entry, owner) : []
      return { body: { receipt: await receiptOf(deps, row), entries: proven.map(showProof) } }
    },
  }),
]

const callKeyOf = async (pool: Pool, caller: Caller): Promise<CallKey> => ({
  ...caller,
  visibleKeys: await findVisibleKeys(pool, caller),
  wallet: walletOf(caller),
})

/** Wallet of a main key, which sees what the wallet paid without a key. */
const walletOf = ({ limits, wallet }: Caller): string | null =>
  limits.length === 0 ? wallet : null

const showListed = (row: CallListRow): z.infer<typeof ListedCall> => ({
  id: row.id,
  at: row.at.toISOString(),
  endpoint: row.endpoint,
  source: row.source,
  usage: row.usage && showUsage(row.usage),
  charged_microdollars: json(row.charged),
  refunded_microdollars: json(row.refunded),
  outcome: row.outcome,
  status: row.status,
  reason: row.reason,
  latency_ms: row.latencyMs,
  key_id: row.keyId,
})

/** Reads a call that the key made or its credits paid. @throws Fault `not_found` */
export async function readCall(deps: CallDeps, key: CallKey, id: string): Promise<CallJson> {
  return showCall(deps, key, await findRow(deps, key, id))
}

async function findRow({ pool, calls }: CallDeps, key: CallKey, id: string): Promise<CallRow> {
  await calls.flush() // records of calls just served by this process
  const row = z.uuid().safeParse(id).success ? await findCall(pool, key, id) : undefined
  if (!row) throw new Fault('not_found', 'This key made no call with this id.')
  return row
}

const receiptOf = async ({ receipts }: CallDeps, row: CallRow): Promise<string | null> =>
  row.record && isFinal(row) ? await receipts.sign(row.record, row.name) : null

async function showCall(deps: CallDeps, key: CallKey, row: CallRow): Promise<CallJson> {
  const { record } = row
  const { hold, refunded } = row
  // A refunded free call stays resolved: another one is granted in its place.
  const resolution = hold?.isFree && record ? undefined : hold?.kind
  const evidence = { resolution, outcome: record?.outcome, refunded }
  // A response is stored before the charge; if charging failed, nobody may read it.
  const isReadable = record?.keyId === key.keyId && record.outcome !== 'failed'
  const stored = isReadable && row.answerId ? await deps.answers.find(row.answerId) : undefined
  return {
    id: row.id,
    at: row.at.toISOString(),
    state: callState(evidence),
    source: record?.source ?? (hold ? (hold.isFree ? 'free' : 'credits') : null),
    reserved_microdollars: json(hold?.reserved ?? 0n),
    charged_microdollars: json((hold?.charged ?? record?.charged ?? 0n) - refunded),
    refunded_microdollars: json(refunded),
    price_version: record?.priceVersion ?? null,
    usage: record?.usage ? showUsage(record.usage) : null,
    expires_at: hold?.expiresAt.toISOString() ?? null,
    endpoint: row.endpoint,
    agent: record?.agent ?? null,
    status: record?.status ?? null,
    reason: record?.reason ?? null,
    receipt: await receiptOf(deps, row),
    answer: stored ? showResponse(stored) : null,
    payment: row.payment && showPayment(row.payment),
  }
}

function showResponse({ status, headers, body }: StoredResponse): z.infer<typeof ResponseView> {
  const isRaw = body instanceof Uint8Array
  const [, type] = Object.entries(headers).find(([name]) => /^content-type$/i.test(name)) ?? []
  return {
    status,
    content_type: type ?? 'application/json',
    encoding: isRaw ? 'base64' : 'json',
    body: isRaw ? Buffer.from(body).toString('base64') : body,
  }
}

const showPayment = (row: NonNullable<CallRow['payment']>): z.infer<typeof Payment> => ({
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
