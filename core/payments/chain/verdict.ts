import type { Asset, Hex } from './asset.ts'
import type { Chain, ChainHead, ExpectedTransfer } from './chain.ts'
import type { Permit } from './permit.ts'

export interface VerdictDeps {
  readonly chain: Chain
  readonly asset: Asset
  /** Confirmations after which a small transfer is final; larger ones need a multiple. */
  readonly finality: bigint
}

/** Time after expiry, on the clock of the chain, before an authorization counts as dead. */
export const EXPIRY_MARGIN_MS = 30_000

/** Multiples of `finality` by minimum amount in microdollars, largest amount first. */
export const FINALITY_FACTORS = [
  [10_000_000_000n, 60n],
  [100_000_000n, 6n],
  [0n, 1n],
] as const

/** Confirmations (1 in the newest block) after which a payment of `amount` is final. */
export const requiredConfirmations = (finality: bigint, amount: bigint): bigint =>
  finality * FINALITY_FACTORS.find(([from]) => amount >= from)![1]

/** A payment by an EIP-3009 authorization. */
export interface AuthorizedTransfer {
  readonly from: Hex
  readonly to: Hex
  readonly value: bigint
  readonly nonce: Hex
  readonly validBefore: Date
  /** A block before the authorization was signed. */
  readonly fromBlock: bigint
}

export interface PaidVerdict {
  readonly is: 'paid'
  readonly tx: Hex
  readonly block: bigint
  /** Amount taken of a maximum. */
  readonly value?: bigint
}

export type PaymentVerdict = PaidVerdict | { readonly is: 'void' } | { readonly is: 'open' }

/**
 * Judges an authorization by the chain alone: `paid` by exactly this transfer, `void` (expired,
 * canceled or used for another transfer) or `open`. Stays `open` until final, because a later block
 * or another node may show a different result.
 */
export async function judgeAuthorization(
  { chain, asset, finality }: VerdictDeps,
  { from, to, value, nonce, validBefore, fromBlock }: AuthorizedTransfer,
): Promise<PaymentVerdict> {
  const known = await chain.authorizationOutcome(from, nonce, fromBlock)
  if (known.outcome === 'unused') {
    const isDead = known.blockTime.getTime() > validBefore.getTime() + EXPIRY_MARGIN_MS
    return { is: isDead ? 'void' : 'open' }
  }
  const { tx } = known
  const { number } = await chain.head()
  const blocks = requiredConfirmations(finality, value)
  if (number - known.block + 1n < blocks) return { is: 'open' }
  if (known.outcome === 'canceled') return { is: 'void' }
  const transfer = { tx, token: asset.address, from, to, value, nonce }
  const evidence = await chain.transferEvidence(transfer)
  if (evidence.found === 'missing' || evidence.confirmations < blocks) return { is: 'open' }
  return evidence.found === 'confirmed' ? { is: 'paid', tx, block: known.block } : { is: 'void' }
}

/**
 * Time after expiry before a permit counts as dead whose number was used otherwise: a node may know
 * the state of a block before its log.
 */
const SPENT_MARGIN_MS = 600_000

/** A payment by a permit of the scheme `upto`, of which `value` was to be taken. */
interface PermittedTransfer extends Permit {
  readonly validBefore: Date
  /** A block before the permit was signed. */
  readonly fromBlock: bigint
}

/** Judges a permit by the chain alone, as `judgeAuthorization` does. */
export async function judgePermit(
  {
    chain,
    finality,
  }: Pick<VerdictDeps, 'finality'> & {
    readonly chain: Pick<Chain, 'permitOutcome' | 'head'>
  },
  { validBefore, fromBlock, ...permit }: PermittedTransfer,
): Promise<PaymentVerdict> {
  const known = await chain.permitOutcome(permit, fromBlock)
  if (known.outcome !== 'used') {
    const margin = known.outcome === 'unused' ? EXPIRY_MARGIN_MS : SPENT_MARGIN_MS
    const isDead = known.blockTime.getTime() > validBefore.getTime() + margin
    return { is: isDead ? 'void' : 'open' }
  }
  const { tx, block, value } = known
  const { number } = await chain.head()
  if (number - block + 1n < requiredConfirmations(finality, value)) return { is: 'open' }
  const isPayment = permit.isMaximum ? value <= permit.value : value === permit.value
  return isPayment ? { is: 'paid', tx, block, value } : { is: 'void' }
}

/** Judges a payment by its known transaction; undefined if it has vanished or is another. */
export async function judgeTransaction(
  { chain, asset, finality }: VerdictDeps,
  transfer: Omit<ExpectedTransfer, 'token'>,
): Promise<PaymentVerdict | undefined> {
  const { address: token } = asset
  const evidence = await chain.transferEvidence({ ...transfer, token })
  if (evidence.found !== 'confirmed') return undefined
  const isFinal = evidence.confirmations >= requiredConfirmations(finality, transfer.value)
  return isFinal ? { is: 'paid', tx: transfer.tx, block: evidence.block } : { is: 'open' }
}

const LOOK_BACK_BLOCKS = 1_000n

/** Returns a block mined before `instant`, assuming at most one block per second. */
export function blockBefore(head: ChainHead, instant: Date): bigint {
  const ms = BigInt(Math.max(0, head.time.getTime() - instant.getTime()))
  const block = head.number - ms / 1_000n - LOOK_BACK_BLOCKS
  return block > 0n ? block : 0n
}
