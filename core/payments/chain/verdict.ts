import type { Asset, Hex } from './asset.ts'
import type { Chain, ChainHead, Transfer } from './chain.ts'

export interface VerdictDeps {
  readonly chain: Chain
  readonly asset: Asset
  /** Blocks with a small transfer and on top of it before it is final; of larger ones, more. */
  readonly finality: bigint
}

/** An authorization is given up only this long after its end, on the clock of the chain. */
export const EXPIRY_MARGIN_MS = 30_000

/** From how much on (microdollars) so many times the blocks are waited for, the most first. */
export const CONFIRMATION_MULTIPLIERS = [
  [10_000_000_000n, 60n],
  [100_000_000n, 6n],
  [0n, 1n],
] as const

/** In how many blocks, the first counted, a payment of so many microdollars is final. */
export const requiredConfirmations = (finality: bigint, amount: bigint): bigint =>
  finality * CONFIRMATION_MULTIPLIERS.find(([from]) => amount >= from)![1]

/** A payment by an authorization of EIP-3009. */
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
}

export type PaymentVerdict = PaidVerdict | { readonly is: 'void' } | { readonly is: 'open' }

/**
 * What the chain says of an authorization, by its nonce and nobody's word: `paid` by this very
 * transfer, `void` (dead, cancelled, or spent on something else), or `open`. What is not final is
 * open: the next block, or the next node, may tell otherwise.
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
 * The same for a payment whose transaction is known, which is quickly looked up. Undefined: it did
 * not last, or is another's, and the authorization has to be asked.
 */
export async function judgeTransaction(
  { chain, asset, finality }: VerdictDeps,
  transfer: Omit<Transfer, 'token'>,
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
  const ms = Math.max(0, head.time.getTime() - instant.getTime())
  const block = head.number - BigInt(Math.floor(ms / 1_000)) - LOOK_BACK_BLOCKS
  return block > 0n ? block : 0n
}
