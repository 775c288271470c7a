import { derivedUuid, instantOf } from '../../ids.ts'
import type { PaymentKey } from './payment.ts'

/** What a payment is for, and what booking it will need. */
export interface Purchase {
  /** Of the purchase, where the buyer names it: it is paid once, by whichever payment comes. */
  readonly id?: string | undefined
  readonly purpose: 'credits' | 'call'
  /** Id of the call, which is one attempt at a request. */
  readonly call?: string
  /** sha256 of exactly what is paid, to tell a repetition from another use. */
  readonly requestHash: Buffer
  /** sha256 of who sent it: nobody else gets the answer, though the chain shows the payment. */
  readonly client?: Buffer | undefined
  /** Microdollars. */
  readonly amount: bigint
  /** The wallet that is paid, in lower case. */
  readonly payTo: string
  /** Code of the account that is credited. */
  readonly payee: string
  readonly commissionBps: number
  /** After it the authorization is dead. */
  readonly validBefore: Date
  /** Settled before the work. @defaultValue false */
  readonly upfront?: boolean
}

export interface Claim extends Purchase {
  /** Id of the entry that the journal has or will have of this payment. */
  readonly id: string
  readonly key: PaymentKey
  /** `released`: it may be claimed again, and is watched as long as it may come on chain. */
  readonly state: 'claimed' | 'settled' | 'confirmed' | 'pending' | 'failed' | 'released'
  readonly transaction: string | null
  readonly claimedAt: Date
  /** When the work was done, for a payment that came before it. */
  readonly deliveredAt: Date | null
}

export const CLAIM_COLUMNS = `network, asset, payer, nonce, id, purpose, request_hash, amount, payee,
  commission_bps, valid_before, upfront, client, pay_to, state, transaction, claimed_at,
    delivered_at`
export const SELECT_CLAIM = `SELECT ${CLAIM_COLUMNS} FROM hub.payment_claim`

export interface ClaimRow extends PaymentKey {
  readonly id: string
  readonly purpose: 'credits' | 'call'
  readonly request_hash: Buffer
  readonly amount: bigint
  readonly payee: string
  readonly commission_bps: number
  readonly valid_before: Date
  readonly upfront: boolean
  readonly client: Buffer | null
  readonly pay_to: string
  readonly state: Claim['state']
  readonly transaction: string | null
  readonly claimed_at: Date
  readonly delivered_at: Date | null
}

export const toClaim = (row: ClaimRow): Claim => ({
  id: row.id,
  key: { network: row.network, asset: row.asset, payer: row.payer, nonce: row.nonce },
  purpose: row.purpose,
  requestHash: row.request_hash,
  amount: row.amount,
  payee: row.payee,
  commissionBps: row.commission_bps,
  validBefore: row.valid_before,
  upfront: row.upfront,
  client: row.client ?? undefined,
  payTo: row.pay_to,
  state: row.state,
  transaction: row.transaction,
  claimedAt: row.claimed_at,
  deliveredAt: row.delivered_at,
})

export const MATCHES_KEY = 'network = $1 AND asset = $2 AND payer = $3 AND nonce = $4'

export const keyValues = ({ network, asset, payer, nonce }: PaymentKey): string[] => [
  network,
  asset,
  payer,
  nonce,
]

/** So often a purchase of one name may fail. */
const ATTEMPTS_MAX = 32

/** Whether nothing is expected of it any more, though it may still come. */
export const isClosed = ({ state }: Pick<Claim, 'state'>): boolean =>
  state === 'failed' || state === 'released'

export const isSameKey = (one: PaymentKey, other: PaymentKey): boolean =>
  keyValues(one).join() === keyValues(other).join()

/** Of the payments of a purchase: the first has the id of its name. */
export const attemptIds = (name: string): readonly string[] =>
  Array.from({ length: ATTEMPTS_MAX }, (_, attempt) =>
    attempt === 0 ? name : derivedUuid(instantOf(name), `payment ${attempt} of ${name}`),
  )
