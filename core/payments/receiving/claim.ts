import { DatabaseError, type Pool } from 'pg'
import { Fault } from '../../errors.ts'
import { derivedUuid, instantOf } from '../../ids.ts'
import type { PaymentKey } from './payment.ts'

/** Purpose of a payment and the data needed to post it. */
export interface Purchase {
  /** Id that the buyer gave the purchase, which is paid once, by any of its payments. */
  readonly id?: string | undefined
  /** Id that the buyer gave the payment, which is then the only one of its wallet with it. */
  readonly identifier?: string | undefined
  readonly purpose: 'credits' | 'call'
  /** Id of the call, which is one attempt at a request. */
  readonly call?: string | undefined
  /** SHA-256 of the paid request, which distinguishes a repetition from another use. */
  readonly requestHash: Buffer
  /** SHA-256 of the sender, who alone gets the stored response, as payments are public on chain. */
  readonly client?: Buffer | undefined
  /** Microdollars: the price, or, once the settlement of a metered call begins, what is taken. */
  readonly amount: bigint
  /** Maximum that the payer of a metered call has authorized; null for an exact payment. */
  readonly authorized?: bigint | null
  /** True if it brings a permit of its token, which works for one payment of a wallet at a time. */
  readonly sponsored?: boolean
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
  readonly authorized: bigint | null
  readonly sponsored: boolean
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

export const CLAIM_COLUMNS = `network, asset, payer, nonce, id, purpose, amount, authorized,
  sponsored, payee, upfront, client, state, transaction, request_hash AS "requestHash",
  commission_bps AS "commissionBps",
  valid_before AS "validBefore", pay_to AS "payTo", claimed_at AS "claimedAt",
  delivered_at AS "deliveredAt", deposited, call, identifier, settling AS "mayBeSent"`
export const SELECT_CLAIM = `SELECT ${CLAIM_COLUMNS} FROM hub.payment_claim`

export type ClaimRow = Omit<Claim, 'key' | 'client' | 'call' | 'identifier'> &
  PaymentKey & {
    readonly client: Buffer | null
    readonly call: string | null
    readonly identifier: string | null
  }

export const toClaim = (claim: ClaimRow): Claim => {
  const { network, asset, payer, nonce, client, call, identifier, ...row } = claim
  const key = { network, asset, payer, nonce }
  return {
    ...row,
    key,
    client: client ?? undefined,
    call: call ?? undefined,
    identifier: identifier ?? undefined,
  }
}

export const IS_KEY = 'network = $1 AND asset = $2 AND payer = $3 AND nonce = $4'

const FIND = { name: 'claims.find', text: `${SELECT_CLAIM} WHERE ${IS_KEY}` }
const FIND_IDENTIFIED = {
  name: 'claims.find-identified',
  text: `${FIND.text}
    UNION ALL ${SELECT_CLAIM} WHERE payer = $3 AND identifier = $5 AND NOT (${IS_KEY})`,
}

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

/**
 * True if a settlement began and nothing is known to be sent: the same payment may be settled
 * again, which takes it once, because the chain accepts a nonce once.
 */
export const isUnsent = ({ state, transaction, mayBeSent }: Claim): boolean =>
  state === 'pending' && transaction === null && mayBeSent

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

const IDENTIFIER_REUSED = 'payment_identifier_reused'

export const isIdentifierTaken = (error: unknown): boolean =>
  error instanceof Fault && error.code === IDENTIFIER_REUSED

/**
 * Finds the claim of a payment.
 * @param identifier id that the buyer gave the payment
 * @throws Fault `payment_identifier_reused` if the id belongs to another payment, or the payment to
 *   another id
 */
export async function findClaim(
  on: Pick<Pool, 'query'>,
  key: PaymentKey,
  identifier: string | undefined,
): Promise<Claim | undefined> {
  const values = keyValues(key)
  const { rows } = await on.query<ClaimRow>(
    identifier === undefined
      ? { ...FIND, values }
      : { ...FIND_IDENTIFIED, values: [...values, identifier] },
  )
  const claims = rows.map(toClaim)
  const isOther = (claim: Claim) =>
    !isSameKey(claim.key, key) || (claim.identifier ?? identifier) !== identifier
  if (identifier !== undefined && claims.some(isOther)) throw new Fault(IDENTIFIER_REUSED)
  return claims[0]
}

/** A claim; `isNew` is true if this request made it. */
export interface ClaimResult {
  readonly isNew: boolean
  /** True if it was presented before: released, or taken over. */
  readonly isRepeated?: boolean
  readonly claim: Claim
}

/** Unique index of the identifiers of payments. */
const IDENTIFIERS = 'payment_claim_identifier'
/** Unique index of the wallets whose permit of the token an open payment uses. */
const APPROVALS = 'payment_claim_approval'

/** Another open payment of the wallet brings a permit of its token, which has the same number. */
export class ApprovalInUse extends Error {
  override readonly name = 'ApprovalInUse'
}

/**
 * Claims a payment for a process. Returns undefined if the payment is already claimed.
 * @throws Fault `payment_identifier_reused` if its identifier stands for another payment
 * @throws ApprovalInUse
 */
export async function insertClaim(
  on: Pick<Pool, 'query'>,
  key: PaymentKey,
  purchase: Purchase & { readonly id: string },
  process: string,
): Promise<ClaimResult | undefined> {
  const inserting = on.query<ClaimRow & { readonly isRepeated: boolean }>({
    name: 'claims.insert',
    text: `INSERT INTO hub.payment_claim AS c (network, asset, payer, nonce, id, purpose,
       request_hash, amount, payee, commission_bps, valid_before, upfront, client, pay_to, call,
       process, identifier, authorized, sponsored)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
     ON CONFLICT (network, asset, payer, nonce) DO UPDATE SET id = excluded.id,
       purpose = excluded.purpose, request_hash = excluded.request_hash,
       amount = excluded.amount, authorized = excluded.authorized, sponsored = excluded.sponsored,
       payee = excluded.payee, client = excluded.client,
       commission_bps = excluded.commission_bps, upfront = excluded.upfront,
       pay_to = excluded.pay_to, call = excluded.call, process = excluded.process,
       identifier = excluded.identifier, state = 'claimed', settling = false, on_trust = false,
       working_until = NULL, claimed_at = now(), changed_at = now()
       WHERE c.state = 'released'
     RETURNING ${CLAIM_COLUMNS}, c.xmax <> 0 AS "isRepeated"`,
    values: [
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
      purchase.identifier ?? null,
      purchase.authorized ?? null,
      purchase.sponsored ?? false,
    ],
  })
  const { rows } = await inserting.catch((error: unknown): never => {
    const constraint = error instanceof DatabaseError ? error.constraint : undefined
    if (constraint === APPROVALS) throw new ApprovalInUse(undefined, { cause: error })
    const isTaken = constraint === IDENTIFIERS
    throw isTaken ? new Fault(IDENTIFIER_REUSED, undefined, { cause: error }) : error
  })
  if (!rows[0]) return undefined
  const { isRepeated, ...row } = rows[0]
  return { isNew: true, isRepeated, claim: toClaim(row) }
}

/**
 * Takes the claim of the same purchase over from a process that is gone, or one whose settlement
 * ended before anything is known to be sent; undefined for any other. A permit does not continue
 * the claim of an exact payment, nor the reverse. A call whose settlement has begun stays the call
 * that is paid for.
 */
export async function takeOverClaim(
  on: Pick<Pool, 'query'>,
  { id, key }: Claim,
  { requestHash, client, call, authorized }: Purchase,
  process: string,
): Promise<Claim | undefined> {
  const { rows } = await on.query<ClaimRow>(
    `UPDATE hub.payment_claim SET state = 'claimed', process = $6, working_until = NULL,
       changed_at = now(),
       call = CASE WHEN settling THEN call ELSE $7 END
     WHERE ${IS_KEY} AND id = $5 AND request_hash = $8
       AND client IS NOT DISTINCT FROM $9 AND authorized IS NOT DISTINCT FROM $10
       AND CASE state WHEN 'claimed' THEN hub.is_gone(process, $6)
         WHEN 'pending' THEN settling AND transaction IS NULL AND NOT deposited ELSE false END
     RETURNING ${CLAIM_COLUMNS}`,
    [...keyValues(key), id, process, call ?? null, requestHash, client ?? null, authorized ?? null],
  )
  return rows[0] && toClaim(rows[0])
}
