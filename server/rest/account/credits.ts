import type { Pool } from 'pg'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { sha256 } from '../../../core/crypto/sha256.ts'
import { Fault } from '../../../core/errors.ts'
import type { KeyCredits } from '../../../core/identity/main-keys.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { dollars, json, MIN_TOP_UP, type Micros, micros } from '../../../core/money.ts'
import { acceptPayment } from '../../../core/payments/receiving/accept.ts'
import { type Claim, isClosed } from '../../../core/payments/receiving/claim.ts'
import { findSettled } from '../../../core/payments/receiving/find-settled.ts'
import type { Settlement } from '../../../core/payments/receiving/offers.ts'
import { paymentResponseOf } from '../../../core/payments/receiving/payment-response.ts'
import { describeRefusal } from '../../../core/payments/receiving/refusal-reasons.ts'
import {
  type AcceptDeps,
  PaymentRefused,
  settlePayment,
} from '../../../core/payments/receiving/settle-payment.ts'
import type { AccountStatus, Spender } from '../../../core/usage/account-status.ts'
import { claimRequestName, findRequestName } from '../../../core/usage/request-names.ts'
import { readPaymentHeader } from '../../http/payment-headers.ts'
import { type AnyRoute, callerOf, type RestReply, route } from '../route.ts'
import { BALANCE, readBalances } from './key-account.ts'

export const MAX_PURCHASE_MICROS = micros(10_000_000_000)
const OFFER_TIMEOUT_SECONDS = 300

interface Topup {
  /** Microdollars. */
  readonly amount: bigint
  readonly baseUrl: string
  readonly purchaseId: string
}

/** Returns the command that makes a named purchase for the configured key, as its lines. */
export const topupCommand = (
  cliCommand: string,
  { amount: credits, baseUrl, purchaseId }: Topup,
): readonly string[] => [
  `${cliCommand} topup ${dollars(credits)}`,
  `--hub ${baseUrl}`,
  `--purchase-id ${purchaseId}`,
]

const amount = z.int().min(0).meta({ description: 'Microdollars: 1,000,000 = 1 USD.' })

const Purchase = z.object({
  purchase_id: z.string(),
  state: z.enum(['settled', 'pending']),
  credited_microdollars: amount,
  balance_microdollars: amount,
  transaction: z.string().nullable(),
})

const Balance = z.object(BALANCE)

export const purchaseAmount = z.int().min(Number(MIN_TOP_UP)).max(Number(MAX_PURCHASE_MICROS))
const purchaseIdField = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 letters, digits or . _ : -')
  .optional()
  .meta({
    description:
      'Your id for the purchase. Requests with the same id buy once, whatever payment they carry.',
  })

export interface CreditsDeps extends AcceptDeps {
  readonly pool: Pool
  readonly clock: Clock
  readonly accountStatus: AccountStatus
}

export const creditsRoutes = (deps: CreditsDeps): readonly AnyRoute[] => [
  route('POST /v1/credits/purchase', {
    summary: 'Buys credits by x402: the first request returns a 402 offer, the next one pays.',
    auth: 'key',
    body: z.strictObject({ amount_microdollars: purchaseAmount, purchase_id: purchaseIdField }),
    example: { amount_microdollars: 5_000_000, purchase_id: 'top-up-1' },
    response: { status: 201, or: 202, schema: Purchase },
    price: { min: MIN_TOP_UP, max: MAX_PURCHASE_MICROS },
    faults: [
      'payment_required',
      'payment_invalid',
      'payment_replayed',
      'payment_identifier_reused',
      'idempotency_key_reused',
      'facilitator_unavailable',
    ],
    handle: (request) => {
      const order = {
        buyer: callerOf(request),
        amount: micros(request.body.amount_microdollars),
        name: request.body.purchase_id,
        url: request.url,
        payment: readPaymentHeader(request.header),
        isKeyed: true,
      }
      return purchase(deps, order)
    },
  }),
  route('GET /v1/credits/balance', {
    summary: 'Returns the available and reserved credits of this key.',
    auth: 'key',
    response: { status: 200, schema: Balance },
    handle: async (request) => ({ body: await readBalances(deps, callerOf(request)) }),
  }),
]

/** Key that buys credits, or receives those that a person buys for it. */
export type Buyer = KeyCredits & Spender

interface PurchaseOrder {
  readonly buyer: Buyer
  readonly amount: Micros
  /** Id of the purchase chosen by the buyer. */
  readonly name: string | undefined
  readonly url: string
  readonly payment: string | undefined
  /** True if Authorization has the key of the buyer. */
  readonly isKeyed: boolean
}

/** Terms of a credit purchase. @param url URL of the purchase request */
export const purchaseTerms = (amount: Micros, url: string) => ({
  amount,
  maxTimeoutSeconds: OFFER_TIMEOUT_SECONDS,
  resource: { url, description: 'Credits of an AgentHub key', mimeType: 'application/json' },
})

/**
 * Buys credits. A repeated payment gets the reply of its purchase and is not executed again.
 * @throws Fault `payment_required`, `payment_invalid`, `payment_replayed`, `idempotency_key_reused`
 */
export async function purchase(deps: CreditsDeps, order: PurchaseOrder): Promise<RestReply> {
  const { offers } = deps
  const { buyer, amount, url, isKeyed } = order
  const terms = purchaseTerms(amount, url)
  const refuse = async (code: 'payment_required' | 'payment_invalid', error?: string) => {
    const { headers, body } = await offers.signedOffer({ ...terms, error: error ?? code, isKeyed })
    const reason = error ? { reason: error } : {}
    const extras = { ...body, amount_microdollars: json(amount), ...reason }
    const detail = describeRefusal(error ?? '')
    return new Fault(code, detail, { extras, headers })
  }
  const id = await claimPurchaseId(deps, order)
  if (order.payment === undefined) {
    const known = id === undefined ? undefined : await deps.claims.findPurchase(id)
    if (!known || isClosed(known)) throw await refuse('payment_required')
    return repeatReply(deps, order, known) // avoids a second payment after a lost response
  }
  const requestHash = sha256(`${buyer.keyId}\n${amount}`)
  const payee = buyer.credits.code
  const bought = { id, purpose: 'credits', requestHash, payee, commissionBps: 0 } as const
  const { payment } = order
  const accept = (found?: Claim) =>
    acceptPayment(deps, payment, terms, bought, 0, found).catch(async (error: unknown) => {
      throw error instanceof PaymentRefused ? await refuse('payment_invalid', error.reason) : error
    })
  const accepted = await acceptOrFind(deps, accept, requestHash)
  if ('repeated' in accepted) return purchaseReply(deps, order, accepted.repeated)
  const { claim } = accepted
  const settled = await settlePayment(deps, { ...accepted, isServed: true })
  const { outcome, tx, reason } = settled
  if (outcome === 'failed') throw await refuse('payment_invalid', reason ?? 'not_settled')
  const state = settled.booked ? 'settled' : 'pending'
  const done = { ...claim, state, transaction: tx ?? null } as const
  return purchaseReply(deps, order, done, settled)
}

const requestName = (name: string): string => `purchase:${name}`

/** Finds the open or successful payment of a named purchase. Changes nothing. */
export async function findPurchase(
  { pool, claims }: Pick<CreditsDeps, 'pool' | 'claims'>,
  buyer: KeyCredits,
  name: string,
): Promise<Claim | undefined> {
  const id = await findRequestName(pool, buyer, requestName(name))
  const claim = id === undefined ? undefined : await claims.findPurchase(id)
  return claim && !isClosed(claim) ? claim : undefined
}

/** Returns true if the credits of a purchase were posted. */
export const isCredited = ({ state }: Pick<Claim, 'state'>): boolean =>
  state === 'settled' || state === 'confirmed'

/** Returns the id of a purchase that the buyer named; the same name always has the same id. */
async function claimPurchaseId(
  { pool, clock }: CreditsDeps,
  order: PurchaseOrder,
): Promise<string | undefined> {
  const { buyer, name, amount } = order
  if (name === undefined) return undefined
  const id = uuidv7(clock.now().getTime())
  const claimed = await claimRequestName(pool, buyer, requestName(name), `credits ${amount}`, id)
  if (claimed !== undefined) return claimed
  throw new Fault('idempotency_key_reused', `The purchase_id ${name} was used for another amount.`)
}

/**
 * Accepts a payment; a repeated one only if nothing is known to be sent, so that it is settled
 * again. Rejects it if the earlier use was not this purchase.
 */
async function acceptOrFind(
  deps: CreditsDeps,
  accept: (found?: Claim) => ReturnType<typeof acceptPayment>,
  requestHash: Buffer,
): ReturnType<typeof acceptPayment> {
  const accepted = await accept()
  if (!('repeated' in accepted)) return accepted
  const { repeated } = accepted
  if (!repeated.requestHash.equals(requestHash) || repeated.state === 'failed') {
    throw new Fault('payment_replayed')
  }
  const { claim, isUnsent } = await findSettled(deps, repeated)
  return isUnsent ? await accept(claim) : { repeated: claim }
}

const repeatReply = async (
  deps: CreditsDeps,
  order: PurchaseOrder,
  claim: Claim,
): Promise<RestReply> => purchaseReply(deps, order, (await findSettled(deps, claim)).claim)

/** @param settlement if the payment was settled now */
async function purchaseReply(
  deps: CreditsDeps,
  { buyer, url }: PurchaseOrder,
  claim: Claim,
  settlement?: Settlement,
): Promise<RestReply> {
  const { accountStatus, clock } = deps
  const settled = isCredited(claim)
  const confirmation =
    settled && claim.transaction !== null
      ? await paymentResponseOf(deps, claim, claim.transaction, url, settlement?.extensions)
      : settlement?.responseHeader
  return {
    status: settled ? 201 : 202,
    headers: confirmation === undefined ? {} : { 'PAYMENT-RESPONSE': confirmation },
    body: {
      purchase_id: claim.id,
      state: settled ? 'settled' : 'pending',
      credited_microdollars: settled ? json(claim.amount) : 0,
      balance_microdollars: json(await accountStatus.spendable(buyer, clock.now())),
      transaction: claim.transaction,
    },
  }
}
