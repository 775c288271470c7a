import type { TransactionReceipt } from 'viem'
import type { Hex } from './asset.ts'
import { lowerCaseHex, tokenEventsIn } from './transfer-logs.ts'

/** Transfer that a transaction must contain to count as a payment. */
export interface ExpectedTransfer {
  readonly tx: Hex
  /** The token contract. */
  readonly token: Hex
  readonly from: Hex
  readonly to: Hex
  /** Exact amount in microdollars. */
  readonly value: bigint
  /** Nonce of the authorization it used, so that one transfer cannot count for two payments. */
  readonly nonce?: Hex
}

/** Result of a lookup. `missing`: in no block (any more). `mismatch`: failed or different. */
export type TransferEvidence =
  | { readonly found: 'missing' }
  | {
      readonly found: 'confirmed' | 'mismatch'
      readonly block: bigint
      /** 1 if it is in the newest block. */
      readonly confirmations: bigint
    }

/** Looks for a transfer in a receipt. @param head number of the newest block */
export function findEvidence(
  { status, logs, blockNumber: block }: TransactionReceipt,
  transfer: ExpectedTransfer,
  head: bigint,
): TransferEvidence {
  return {
    found: status === 'success' && hasTransfer(logs, transfer) ? 'confirmed' : 'mismatch',
    block,
    // A lagging node may not have seen the receipt's block yet.
    confirmations: head < block ? 1n : head - block + 1n,
  }
}

/**
 * Returns true if the token logged exactly this transfer by this authorization. USDC logs the use
 * of an authorization right before its transfer. A transaction may contain several of them, and the
 * transfer of one must not count for another.
 */
function hasTransfer(
  logs: TransactionReceipt['logs'],
  { token, from, to, value, nonce }: ExpectedTransfer,
): boolean {
  const payer = lowerCaseHex(from)
  const events = tokenEventsIn(logs, token)
  return events.some((event, i) => {
    const isMoved =
      event.is === 'transfer' &&
      event.from === payer &&
      event.to === lowerCaseHex(to) &&
      event.value === value
    if (!isMoved || nonce === undefined) return isMoved
    const before = events[i - 1]
    return (
      before?.is === 'authorization' &&
      before.payer === payer &&
      before.nonce === lowerCaseHex(nonce)
    )
  })
}
