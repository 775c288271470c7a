import { derivedUuid, instantOf } from '../../ids.ts'
import type { Claim } from './claims.ts'
import type { PaymentKey } from './offers.ts'

export const COLUMNS = `network, asset, payer, nonce, id, purpose, request_hash, amount, payee,
  commission_bps, valid_before, upfront, client, pay_to, state, transaction, claimed_at,
    delivered_at`
export const SELECT = `SELECT ${COLUMNS} FROM hub.payment_claim`

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

export const claimOf = (row: ClaimRow): Claim => ({
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

export const IS_KEY = 'network = $1 AND asset = $2 AND payer = $3 AND nonce = $4'

export const parts = ({ network, asset, payer, nonce }: PaymentKey): string[] => [
  network,
  asset,
  payer,
  nonce,
]

/** So often a purchase of one name may fail. */
const ATTEMPTS_MAX = 32

/** Whether nothing is expected of it any more, though it may still come. */
export const isOver = ({ state }: Pick<Claim, 'state'>): boolean =>
  state === 'failed' || state === 'released'

export const sameKey = (one: PaymentKey, other: PaymentKey): boolean =>
  parts(one).join() === parts(other).join()

/** Of the payments of a purchase: the first has the id of its name. */
export const idsOf = (name: string): readonly string[] =>
  Array.from({ length: ATTEMPTS_MAX }, (_, attempt) =>
    attempt === 0 ? name : derivedUuid(instantOf(name), `payment ${attempt} of ${name}`),
  )
