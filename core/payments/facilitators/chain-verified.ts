import { SettleError, type SettleResponse } from '@x402/core/types'
import { elapsedMs, sleep } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Asset, Hex } from '../chain/asset.ts'
import { type Chain, ChainUnavailable, type ExpectedTransfer } from '../chain/chain.ts'
import type { ExactPayload } from '../receiving/transfer-fields.ts'
import type { Facilitator } from './facilitator.ts'

export interface ChainVerification {
  /** The hub's own view of the chain. */
  readonly chain: Chain
  readonly asset: Asset
  /** Name of the facilitator in log lines. */
  readonly name: string
  readonly log: Log
  /** Time to search the chain for a payment that may be pending. @defaultValue 5000 */
  readonly searchMs?: number
  /** Interval between two searches. @defaultValue 250 */
  readonly pollMs?: number
}

const PENDING = 'settlement_pending'
/** About an hour of Base. A payment made earlier is not found and stays pending. */
const LOOK_BACK_BLOCKS = 2_000n

/**
 * Checks every settlement of a facilitator against the chain. A payment counts as made only if the
 * token logged this transfer by this authorization in a successful transaction. A claimed success
 * that is missing on chain or differs becomes `settlement_pending`; a payment found on chain is a
 * success even if the facilitator reported failure or did not respond.
 */
export function chainVerified(facilitator: Facilitator, options: ChainVerification): Facilitator {
  const { asset, log, name } = options
  return {
    verify: (...args) => facilitator.verify(...args),
    getSupported: () => facilitator.getSupported(),
    async settle(payload, requirements) {
      const { network } = requirements
      const payment = toAuthorizedPayment(asset, payload)
      const { from: payer, nonce } = payment
      const claim = await facilitator.settle(payload, requirements).then(toClaim, toOpenClaim)
      const { claims, hash } = claim
      const finding = await pollChain(options, payment, claim)
      const details = { facilitator: name, claims, hash, payer, nonce }
      if (finding.is === 'paid') {
        const { tx } = finding
        if (claims !== 'paid' || tx !== hash) {
          log.warn({ ...details, tx }, 'the chain contradicts the facilitator')
        }
        return { success: true, transaction: tx, network, payer }
      }
      const pending = { success: false, errorReason: PENDING, network, payer }
      if (finding.is === 'another' && claims !== 'failed') {
        log.error(details, 'the facilitator names a transaction that is not the payment')
        return { ...pending, transaction: '' }
      }
      if ('error' in claim) throw claim.error
      return claims === 'paid' ? { ...pending, transaction: hash ?? '' } : claim.response
    },
  }
}

/** Claim of a facilitator: the payment is made, failed or open, and by which transaction. */
type FacilitatorClaim = {
  readonly claims: 'paid' | 'failed' | 'open'
  readonly hash: Hex | undefined
} & ({ readonly response: SettleResponse } | { readonly error: unknown })

function toClaim(response: SettleResponse): FacilitatorClaim {
  const { success, errorReason, transaction } = response
  const isOpen = errorReason === undefined || errorReason === PENDING
  return {
    claims: success ? 'paid' : isOpen ? 'open' : 'failed',
    hash: parseHash(transaction),
    response,
  }
}

const toOpenClaim = (error: unknown): FacilitatorClaim => ({
  claims: 'open',
  hash: error instanceof SettleError ? parseHash(error.transaction) : undefined,
  error,
})

const parseHash = (text: string): Hex | undefined =>
  /^0x[0-9a-fA-F]{64}$/.test(text) ? (text.toLowerCase() as Hex) : undefined

type AuthorizedPayment = Omit<ExpectedTransfer, 'tx'> & { readonly nonce: Hex }

function toAuthorizedPayment(
  { address: token }: Asset,
  { payload }: Parameters<Facilitator['settle']>[0],
): AuthorizedPayment {
  const { from, to, value, nonce } = (payload as ExactPayload).authorization
  return { token, from, to, value: BigInt(value), nonce }
}

/** `another`: the named transaction is on the chain and is not this payment. */
type Finding = { readonly is: 'paid'; readonly tx: Hex } | { readonly is: 'another' | 'nothing' }

/** Searches until the payment is found; only once if the facilitator reported failure. */
async function pollChain(
  { chain, searchMs = 5_000, pollMs = 250 }: ChainVerification,
  payment: AuthorizedPayment,
  { claims, hash }: FacilitatorClaim,
): Promise<Finding> {
  const deadline = elapsedMs() + (claims === 'failed' ? 0 : searchMs)
  for (;;) {
    const finding = await checkChain(chain, payment, hash)
    if (finding.is !== 'nothing' || elapsedMs() + pollMs > deadline) return finding
    await sleep(pollMs)
  }
}

async function checkChain(chain: Chain, payment: AuthorizedPayment, hash?: Hex): Promise<Finding> {
  try {
    const named = hash && (await chain.transferEvidence({ ...payment, tx: hash })).found
    if (hash && named === 'confirmed') return { is: 'paid', tx: hash }
    const tx = await findTransaction(chain, payment)
    return tx ? { is: 'paid', tx } : { is: named === 'mismatch' ? 'another' : 'nothing' }
  } catch (error) {
    if (error instanceof ChainUnavailable) return { is: 'nothing' }
    throw error
  }
}

/** Finds the transaction that made a payment, from any sender. */
async function findTransaction(chain: Chain, payment: AuthorizedPayment): Promise<Hex | undefined> {
  const { number } = await chain.head()
  const from = number > LOOK_BACK_BLOCKS ? number - LOOK_BACK_BLOCKS : 0n
  const used = await chain.authorizationOutcome(payment.from, payment.nonce, from)
  if (used.outcome !== 'used') return undefined
  const { found } = await chain.transferEvidence({ ...payment, tx: used.tx })
  return found === 'confirmed' ? used.tx : undefined
}
