import type { Pool } from 'pg'
import { derivedUuid, instantOf } from '../../ids.ts'
import type { PaymentKey } from './payment.ts'

/** Purpose of a payment and the data needed to post it. */
export interface Purchase {
  /** Id that the buyer gave the purchase, which is paid once, by any of its payments. */
  readonly id?: string | undefined
  readonly purpose: 'credits' | 'call'
  /** Id of the call, which is one attempt at a request. */
  readonly call?: string | undefined
  /** SHA-256 of the paid request, which distinguishes a repetition from another use. */
  readonly requestHash: Buffer
  /** SHA-256 of the sender, who alone gets the stored response, as payments are public on chain. */
  readonly client?: Buffer | undefined
  /** Microdollars. */
  readonly amount: bigint
  /** Wallet that receives the payment, in lower case. */
  readonly payTo: string
  /** Code of the credited account. */
  readonly payee: string
  readonly commissionBps: number
  /** Expiry of the authorization. */
  readonly validBefore: Date
  /** True if it is settled before the work. @defaultValue false */
  readonly upfront?: boolean
}

export interface Claim extends Purchase {
  /** Id of the payment's journal entry, posted or future. */
  readonly id: string
  readonly key: PaymentKey
  /** `released`: it may be claimed again, and is watched while it can still be settled. */
  readonly state: 'claimed' | 'settled' | 'confirmed' | 'pending' | 'failed' | 'released'
  readonly transaction: string | null
  readonly claimedAt: Date
  /** Completion of the work, for an upfront payment. */
  readonly deliveredAt: Date | null
  /** True if it buys nothing and is a deposit of its payer. */
  readonly deposited: boolean
  /** True if a process has begun to settle it: it may be sent, or have been sent. */
  readonly mayBeSent: boolean
}

export const CLAIM_COLUMNS = `network, asset, payer, nonce, id, purpose, amount, payee, upfront,
  client, state, transaction, request_hash AS "requestHash", commission_bps AS "commissionBps",
  valid_before AS "validBefore", pay_to AS "payTo", claimed_at AS "claimedAt",
  delivered_at AS "deliveredAt", deposited, call, settling AS "mayBeSent"`
export const SELECT_CLAIM = `SELECT ${CLAIM_COLUMNS} FROM hub.payment_claim`

export type ClaimRow = Omit<Claim, 'key' | 'client' | 'call'> &
  PaymentKey & { readonly client: Buffer | null; readonly call: string | null }

export const toClaim = (claim: ClaimRow): Claim => {
  const { network, asset, payer, nonce, client, call, ...row } = claim
  const key = { network, asset, payer, nonce }
  return { ...row, key, client: client ?? undefined, call: call ?? undefined }
}

export const IS_KEY = 'network = $1 AND asset = $2 AND payer = $3 AND nonce = $4'

export const keyValues = ({ network, asset, payer, nonce }: PaymentKey): string[] => [
  network,
  asset,
  payer,
  nonce,
]

/** Time for which an upfront payment can pay for work; then it is returned to its payer. */
export const REFUND_HOURS = 24

/** Failed payments allowed per named purchase. */
const ATTEMPTS_MAX = 32

/** True if the payment is no longer expected, though it may still be settled. */
export const isClosed = ({ state }: Pick<Claim, 'state'>): boolean =>
  state === 'failed' || state === 'released'

export const isSameKey = (one: PaymentKey, other: PaymentKey): boolean =>
  keyValues(one).join() === keyValues(other).join()

/** Ids of the payments of a named purchase. The first one is the name itself. */
export const attemptIds = (name: string): readonly string[] =>
  Array.from({ length: ATTEMPTS_MAX }, (_, attempt) =>
    attempt === 0 ? name : derivedUuid(instantOf(name), `payment ${attempt} of ${name}`),
  )

/** A claim; `isNew` is true if this request made it. */
export interface ClaimResult {
  readonly isNew: boolean
  /** True if it was presented before: released, or taken over. */
  readonly isRepeated?: boolean
  readonly claim: Claim
}

/** Claims a payment for a process. Returns undefined if the payment is already claimed. */
export async function insertClaim(
  on: Pick<Pool, 'query'>,
  key: PaymentKey,
  purchase: Purchase & { readonly id: string },
  process: string,
): Promise<ClaimResult | undefined> {
  const { rows } = await on.query<ClaimRow & { readonly isRepeated: boolean }>(
    `INSERT INTO hub.payment_claim AS c (network, asset, payer, nonce, id, purpose, request_hash,
       amount, payee, commission_bps, valid_before, upfront, client, pay_to, call, process)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
     ON CONFLICT (network, asset, payer, nonce) DO UPDATE SET id = excluded.id,
       purpose = excluded.purpose, request_hash = excluded.request_hash,
       amount = excluded.amount, payee = excluded.payee, client = excluded.client,
       commission_bps = excluded.commission_bps, upfront = excluded.upfront,
       pay_to = excluded.pay_to, call = excluded.call, process = excluded.process,
       state = 'claimed', settling = false,
       claimed_at = now(), changed_at = now()
       WHERE c.state = 'released'
     RETURNING ${CLAIM_COLUMNS}, c.xmax <> 0 AS "isRepeated"`,
    [
      ...keyValues(key),
      purchase.id,
      purchase.purpose,
      purchase.requestHash,
      purchase.amount,
      purchase.payee,
      purchase.commissionBps,
      purchase.validBefore,
      purchase.upfront ?? false,
      purchase.client ?? null,
      purchase.payTo.toLowerCase(),
      purchase.call ?? null,
      process,
    ],
  )
  if (!rows[0]) return undefined
  const { isRepeated, ...row } = rows[0]
  return { isNew: true, isRepeated, claim: toClaim(row) }
}
