import { SettleError, type SettleResponse } from '@x402/core/types'
import { elapsedMs, sleep } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Asset, Hex } from '../chain/asset.ts'
import { type Chain, ChainUnavailable, type Transfer } from '../chain/chain.ts'
import type { Payment } from '../receiving/payment.ts'
import type { Facilitator } from './facilitator.ts'

export interface ChainVerification {
  /** Our own view. */
  readonly chain: Chain
  readonly asset: Asset
  /** What the log calls the facilitator. */
  readonly name: string
  readonly log: Log
  /** How long the chain is watched for a payment that may be on its way. @defaultValue 5000 */
  readonly searchMs?: number
  /** Between two looks. @defaultValue 250 */
  readonly pollMs?: number
}

const PENDING = 'settlement_pending'
/** About an hour of Base. What was used before is not found, and its payment stays pending. */
const LOOK_BACK_BLOCKS = 2_000n

/**
 * A facilitator whose word is held against the chain. A payment counts as made when the token says
 * so: this transfer, by this authorization, in a transaction that succeeded. What is said to be
 * made and is not to be seen, or is something else, is `settlement_pending`; what is said to have
 * failed, or was left without an answer, and was made all the same, is a success.
 */
export function chainVerified(facilitator: Facilitator, witness: ChainVerification): Facilitator {
  const { asset, log, name } = witness
  return {
    verify: (...args) => facilitator.verify(...args),
    getSupported: () => facilitator.getSupported(),
    async settle(payload, requirements) {
      const { network } = requirements
      const payment = toAuthorizedPayment(asset, payload)
      const { from: payer, nonce } = payment
      const said = await facilitator
        .settle(payload, requirements)
        .then(claimOfResponse, claimOfError)
      const { claims, hash } = said
      const seen = await pollChain(witness, payment, said)
      const told = { facilitator: name, claims, hash, payer, nonce }
      if (seen.is === 'paid') {
        const { tx } = seen
        if (claims !== 'paid' || tx !== hash) {
          log.warn({ ...told, tx }, 'a payment was made otherwise than the facilitator says')
        }
        return { success: true, transaction: tx, network, payer }
      }
      const pending = { success: false, errorReason: PENDING, network, payer }
      if (seen.is === 'another' && claims !== 'failed') {
        log.error(told, 'the facilitator names a transaction that is not the payment')
        return { ...pending, transaction: '' }
      }
      if ('error' in said) throw said.error
      return claims === 'paid' ? { ...pending, transaction: hash ?? '' } : said.answer
    },
  }
}

/** What a facilitator says: that a payment is made, is not, or may be; and by which transaction. */
type FacilitatorClaim = {
  readonly claims: 'paid' | 'failed' | 'open'
  readonly hash: Hex | undefined
} & ({ readonly answer: SettleResponse } | { readonly error: unknown })

function claimOfResponse(answer: SettleResponse): FacilitatorClaim {
  const { success, errorReason, transaction } = answer
  const isOpen = errorReason === undefined || errorReason === PENDING
  return {
    claims: success ? 'paid' : isOpen ? 'open' : 'failed',
    hash: parseHash(transaction),
    answer,
  }
}

const claimOfError = (error: unknown): FacilitatorClaim => ({
  claims: 'open',
  hash: error instanceof SettleError ? parseHash(error.transaction) : undefined,
  error,
})

const parseHash = (text: string): Hex | undefined =>
  /^0x[0-9a-fA-F]{64}$/.test(text) ? (text.toLowerCase() as Hex) : undefined

type AuthorizedPayment = Omit<Transfer, 'tx'> & { readonly nonce: Hex }

function toAuthorizedPayment(
  { address: token }: Asset,
  { payload }: Parameters<Facilitator['settle']>[0],
): AuthorizedPayment {
  const { from, to, value, nonce } = (payload as Payment['payload']).authorization
  return { token, from, to, value: BigInt(value), nonce }
}

/** `another`: the transaction that was named is on the chain, and is not this payment. */
type ChainFinding =
  | { readonly is: 'paid'; readonly tx: Hex }
  | { readonly is: 'another' | 'nothing' }

/** Looks until the payment is seen; once only where it is said that none will come. */
async function pollChain(
  { chain, searchMs: patienceMs = 5_000, pollMs = 250 }: ChainVerification,
  payment: AuthorizedPayment,
  { claims, hash }: FacilitatorClaim,
): Promise<ChainFinding> {
  const deadline = elapsedMs() + (claims === 'failed' ? 0 : patienceMs)
  for (;;) {
    const seen = await checkChain(chain, payment, hash)
    if (seen.is !== 'nothing' || elapsedMs() + pollMs > deadline) return seen
    await sleep(pollMs)
  }
}

async function checkChain(
  chain: Chain,
  payment: AuthorizedPayment,
  hash: Hex | undefined,
): Promise<ChainFinding> {
  try {
    const named = hash && (await chain.transferEvidence({ ...payment, tx: hash })).found
    if (hash && named === 'confirmed') return { is: 'paid', tx: hash }
    const tx = await findByAuthorization(chain, payment)
    return tx ? { is: 'paid', tx } : { is: named === 'mismatch' ? 'another' : 'nothing' }
  } catch (error) {
    if (error instanceof ChainUnavailable) return { is: 'nothing' }
    throw error
  }
}

/** The transaction that made a payment, whoever sent it. */
async function findByAuthorization(
  chain: Chain,
  payment: AuthorizedPayment,
): Promise<Hex | undefined> {
  const { number } = await chain.head()
  const from = number > LOOK_BACK_BLOCKS ? number - LOOK_BACK_BLOCKS : 0n
  const used = await chain.authorizationOutcome(payment.from, payment.nonce, from)
  if (used.outcome !== 'used') return undefined
  const { found } = await chain.transferEvidence({ ...payment, tx: used.tx })
  return found === 'confirmed' ? used.tx : undefined
}
