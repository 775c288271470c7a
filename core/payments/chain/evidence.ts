import type { SignedPayment } from '../paying/buying.ts'
import type { Asset, Hex } from './asset.ts'
import type { Chain, Transfer } from './chain.ts'

export interface EvidencePorts {
  readonly chain: Chain
  readonly asset: Asset
  /** Blocks with a small transfer and on top of it before it is final; of larger ones, more. */
  readonly finality: bigint
}

/** An authorization is given up only this long after its end, on the clock of the chain. */
export const MARGIN_MS = 30_000

/** From how much on (microdollars) so many times the blocks are waited for, the most first. */
export const DEPTHS = [
  [10_000_000_000n, 60n],
  [100_000_000n, 6n],
  [0n, 1n],
] as const

/** In how many blocks, the first counted, a payment of so many microdollars is final. */
export const blocksToWait = (finality: bigint, amount: bigint): bigint =>
  finality * DEPTHS.find(([from]) => amount >= from)![1]

/** A payment by an authorization of EIP-3009. */
export interface Authorized {
  readonly from: Hex
  readonly to: Hex
  readonly value: bigint
  readonly nonce: Hex
  readonly validBefore: Date
  /** A block before the authorization was signed. */
  readonly fromBlock: bigint
}

export type Verdict =
  | { readonly is: 'paid'; readonly tx: Hex; readonly block: bigint }
  | { readonly is: 'void' }
  | { readonly is: 'open' }

/**
 * What the chain says of an authorization, by its nonce and nobody's word: `paid` by this very
 * transfer, `void` (dead, cancelled, or spent on something else), or `open`. What is not final is
 * open: the next block, or the next node, may tell otherwise.
 */
export async function verdict(
  { chain, asset, finality }: EvidencePorts,
  { from, to, value, nonce, validBefore, fromBlock }: Authorized,
): Promise<Verdict> {
  const known = await chain.authorizationOutcome(from, nonce, fromBlock)
  if (known.outcome === 'unused') {
    const isDead = known.blockTime.getTime() > validBefore.getTime() + MARGIN_MS
    return { is: isDead ? 'void' : 'open' }
  }
  const { tx } = known
  const { number } = await chain.head()
  const blocks = blocksToWait(finality, value)
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
export async function verdictOn(
  { chain, asset, finality }: EvidencePorts,
  transfer: Omit<Transfer, 'token'>,
): Promise<Verdict | undefined> {
  const { address: token } = asset
  const evidence = await chain.transferEvidence({ ...transfer, token })
  if (evidence.found !== 'confirmed') return undefined
  const isFinal = evidence.confirmations >= blocksToWait(finality, transfer.value)
  return isFinal ? { is: 'paid', tx: transfer.tx, block: evidence.block } : { is: 'open' }
}

/** That a seller has taken a payment. */
export interface Evidence {
  readonly transaction: Hex
  readonly block: bigint
}

/**
 * What is on the chain by now, if only in one block: more than a seller's word, which is charged
 * too. Whatever is charged early and does not last goes back. Undefined: nothing yet.
 * @throws ChainUnavailable
 */
export async function evidenceOf(
  ports: EvidencePorts,
  { signed, fromBlock }: { readonly signed: SignedPayment; readonly fromBlock: bigint },
): Promise<Evidence | undefined> {
  const validBefore = dateOf(signed.validBefore)
  const early = { ...ports, finality: 1n }
  const found = await verdict(early, { ...signed, validBefore, fromBlock })
  return found.is === 'paid' ? { transaction: found.tx, block: found.block } : undefined
}

const MS_PER_SECOND = 1_000

/** Of Unix seconds. */
export const dateOf = (seconds: bigint): Date => new Date(Number(seconds) * MS_PER_SECOND)
