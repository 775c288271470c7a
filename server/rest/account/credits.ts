import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import type { KeyCredits } from '../../../core/identity/key-credits.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { claimKey } from '../../../core/ledger/idempotency.ts'
import { json, type Micros, micros } from '../../../core/money.ts'
import {
  type AcceptPorts,
  acceptPayment,
  PaymentRefused,
  settlePayment,
} from '../../../core/payments/receiving/accept.ts'
import { type Claim, isOver } from '../../../core/payments/receiving/claim.ts'
import { reasonInWords } from '../../../core/payments/receiving/refusal-reasons.ts'
import type { AccountStatus } from '../../../core/usage/account-status.ts'
import { type AnyRoute, callerOf, type RestReply, route } from '../route.ts'

/** The least that a purchase may be, in microdollars: below it, gas outweighs it. */
export const MIN_PURCHASE_MICROS = micros(1_000_000)
export const MAX_PURCHASE_MICROS = micros(10_000_000_000)
const OFFER_TIMEOUT_SECONDS = 300

const amount = z.int().min(0).meta({ description: 'Microdollars: 1,000,000 are one dollar.' })

const Purchase = z.object({
  purchase_id: z.string(),
  state: z.enum(['settled', 'pending']),
  credited_microdollars: amount,
  balance_microdollars: amount,
  transaction: z.string().nullable(),
})

const Balance = z.object({ balance_microdollars: amount, reserved_microdollars: amount })

const purchaseIdField = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, '1 to 128 letters, digits and . _ : -')
  .optional()
  .meta({
    description:
      'Your name for it: bought once, however often and with whichever payment it is sent.',
  })

export interface CreditsDeps extends AcceptPorts {
  readonly pool: Pool
  readonly clock: Clock
  readonly accountStatus: AccountStatus
}

export const creditsRoutes = (ports: CreditsDeps): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/credits/purchase',
    summary:
      'Buys credits by an x402 payment: first a 402 with the offer, then the same request paid.',
    auth: 'key',
    body: z.strictObject({
      amount_microdollars: z
        .int()
        .min(Number(MIN_PURCHASE_MICROS))
        .max(Number(MAX_PURCHASE_MICROS)),
      purchase_id: purchaseIdField,
    }),
    example: { amount_microdollars: 5_000_000, purchase_id: 'top-up-1' },
    response: { status: 201, or: 202, schema: Purchase },
    price: { min: MIN_PURCHASE_MICROS, max: MAX_PURCHASE_MICROS },
    faults: [
      'payment_required',
      'payment_invalid',
      'payment_replayed',
      'idempotency_key_reused',
      'facilitator_unavailable',
    ],
    handle: (request) => {
      const order = {
        buyer: callerOf(request),
        amount: micros(request.body.amount_microdollars),
        name: request.body.purchase_id,
        url: request.url,
        payment: request.header('payment-signature'),
      }
      return purchase(ports, order)
    },
  }),
  route({
    method: 'GET',
    path: '/v1/credits/balance',
    summary: 'The credits of this key: free to spend, and reserved by calls in flight.',
    auth: 'key',
    response: { status: 200, schema: Balance },
    handle: async (request) => ({ body: await balances(ports, callerOf(request)) }),
  }),
]

interface PurchaseOrder {
  /** Whose credits they will be. */
  readonly buyer: KeyCredits
  readonly amount: Micros
  /** The buyer's own name for the purchase. */
  readonly name: string | undefined
  readonly url: string
  readonly payment: string | undefined
}

/** The offer to who buys credits. @param url of the purchase */
export const purchaseTerms = (amount: Micros, url: string) => ({
  amount,
  maxTimeoutSeconds: OFFER_TIMEOUT_SECONDS,
  resource: { url, description: 'Credits of an AgentHub key', mimeType: 'application/json' },
})

/** Settles first and books once: a repetition of a settled payment is answered, not executed. */
export async function purchase(ports: CreditsDeps, order: PurchaseOrder): Promise<RestReply> {
  const { offers } = ports
  const { buyer, amount, url } = order
  const terms = purchaseTerms(amount, url)
  const refuse = (code: 'payment_required' | 'payment_invalid', error?: string): Fault => {
    const { header, required } = offers.offer({ ...terms, error: error ?? code })
    const reason = error ? { reason: error } : {}
    const extras = { ...required, amount_microdollars: json(amount), ...reason }
    const detail = reasonInWords(error ?? '')
    return new Fault(code, detail, { extras, headers: { 'PAYMENT-REQUIRED': header } })
  }
  const id = await claimPurchaseId(ports, order)
  if (order.payment === undefined) {
    const known = id === undefined ? undefined : await ports.claims.named(id)
    if (!known || isOver(known)) throw refuse('payment_required')
    return purchaseReply(ports, buyer, known, {}) // nobody pays twice for want of an answer
  }
  const requestHash = createHash('sha256').update(`${buyer.keyId}\n${amount}`).digest()
  const payee = buyer.credits.code
  const accepted = await acceptPayment(ports, order.payment, terms, {
    id,
    purpose: 'credits',
    requestHash,
    payee,
    commissionBps: 0,
  }).catch((error: unknown) => {
    throw error instanceof PaymentRefused ? refuse('payment_invalid', error.reason) : error
  })
  if ('repeated' in accepted)
    return replyToRepeatedPayment(ports, buyer, accepted.repeated, requestHash)
  const { claim } = accepted
  const settled = await settlePayment(ports, accepted)
  const { outcome, tx, reason, responseHeader } = settled
  if (outcome === 'failed') throw refuse('payment_invalid', reason ?? 'not_settled')
  const state = settled.booked ? 'settled' : 'pending'
  const done = { ...claim, state, transaction: tx ?? null } as const
  return purchaseReply(ports, buyer, done, { 'PAYMENT-RESPONSE': responseHeader })
}

/** The id of a purchase that the buyer named; one that was named before keeps it. */
async function claimPurchaseId(
  { pool, clock }: CreditsDeps,
  order: PurchaseOrder,
): Promise<string | undefined> {
  const { buyer, name, amount } = order
  if (name === undefined) return undefined
  const key = `purchase:${name}`
  const id = uuidv7(clock.now().getTime())
  const claimed = await claimKey(pool, buyer.credits, key, `credits ${amount}`, id)
  if (claimed) return claimed.id
  throw new Fault('idempotency_key_reused', `Another amount was bought as ${name}.`)
}

/** The same payment again: the same purchase is told once more, any other use is refused. */
async function replyToRepeatedPayment(
  ports: CreditsDeps,
  buyer: KeyCredits,
  claim: Claim,
  requestHash: Buffer,
): Promise<RestReply> {
  if (!claim.requestHash.equals(requestHash) || claim.state === 'failed') {
    throw new Fault('payment_replayed')
  }
  return purchaseReply(ports, buyer, claim, {})
}

async function purchaseReply(
  { accountStatus }: CreditsDeps,
  { credits }: KeyCredits,
  claim: Claim,
  headers: Readonly<Record<string, string>>,
): Promise<RestReply> {
  const settled = claim.state === 'settled' || claim.state === 'confirmed'
  return {
    status: settled ? 201 : 202,
    headers,
    body: {
      purchase_id: claim.id,
      state: settled ? 'settled' : 'pending',
      credited_microdollars: settled ? json(claim.amount) : 0,
      balance_microdollars: json(await accountStatus.balance(credits)),
      transaction: claim.transaction,
    },
  }
}

/** What a key has: its credits, and what calls in flight hold of them. */
export async function balances(
  { pool, accountStatus }: Pick<CreditsDeps, 'pool' | 'standing'>,
  caller: Caller,
) {
  const { rows } = await pool.query<{ reserved: string }>(
    `SELECT coalesce(sum(amount), 0)::text AS reserved FROM ledger.open_hold WHERE owner = $1
       AND id >= ledger.first_id(now() - interval '1 day')`,
    [caller.credits.id],
  )
  return {
    balance_microdollars: json(await accountStatus.balance(caller.credits)),
    reserved_microdollars: json(BigInt(rows[0]!.reserved)),
  }
}
