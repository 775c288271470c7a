import { isAddressEqual, parseAbi, parseEventLogs, type TransactionReceipt } from 'viem'
import { memoizeByObject } from '../../runtime/cache.ts'
import type { Hex } from './asset.ts'

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

const ABI = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
])

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

/** Decodes the events of a receipt once: up to fifty payments may share it. */
const eventsOf = memoizeByObject((logs: TransactionReceipt['logs']) =>
  parseEventLogs({ abi: ABI, logs }),
)

/**
 * Returns true if the token logged exactly this transfer by this authorization. USDC logs the use
 * of an authorization right before its transfer. A transaction may contain several of them, and the
 * transfer of one must not count for another.
 */
function hasTransfer(
  logs: TransactionReceipt['logs'],
  { token, from, to, value, nonce }: ExpectedTransfer,
): boolean {
  const own = eventsOf(logs).filter(({ address }) => isAddressEqual(address, token))
  return own.some((log, i) => {
    const isMoved =
      log.eventName === 'Transfer' &&
      isAddressEqual(log.args.from, from) &&
      isAddressEqual(log.args.to, to) &&
      log.args.value === value
    const before = own[i - 1]
    const isAuthorized =
      before?.eventName === 'AuthorizationUsed' &&
      isAddressEqual(before.args.authorizer, from) &&
      before.args.nonce === nonce?.toLowerCase()
    return isMoved && (nonce === undefined || isAuthorized)
  })
}
