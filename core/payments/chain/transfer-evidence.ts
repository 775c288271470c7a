import { isAddressEqual, parseAbi, parseEventLogs, type TransactionReceipt } from 'viem'
import type { Hex } from './asset.ts'

/** What a transaction must have done to count as a payment. */
export interface ExpectedTransfer {
  readonly tx: Hex
  /** The token contract. */
  readonly token: Hex
  readonly from: Hex
  readonly to: Hex
  /** Microdollars: exactly this much. */
  readonly value: bigint
  /** Of the authorization that it used up: then one transfer cannot stand for two payments. */
  readonly nonce?: Hex
}

/**
 * `missing`: no block has it (any more). `mismatch`: it is on the chain and failed, or moved
 * something else.
 */
export type TransferEvidence =
  | { readonly found: 'missing' }
  | {
      readonly found: 'confirmed' | 'mismatch'
      readonly block: bigint
      /** 1 in the newest block. How many are enough is for the caller to say. */
      readonly confirmations: bigint
    }

const ABI = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
])

/** What a receipt says of a transfer. @param head the newest block */
export function findTransferEvidence(
  { status, logs, blockNumber: block }: TransactionReceipt,
  transfer: ExpectedTransfer,
  head: bigint,
): TransferEvidence {
  return {
    found: status === 'success' && containsTransfer(logs, transfer) ? 'confirmed' : 'mismatch',
    block,
    // A node behind another one may not have seen the receipt's block yet.
    confirmations: head < block ? 1n : head - block + 1n,
  }
}

type ReceiptLogs = Parameters<typeof parseEventLogs>[0]['logs']

/**
 * Whether the token itself says that exactly this was transferred, by this authorization: USDC logs
 * the use of an authorization right before its transfer. One transaction may carry several of them,
 * and the transfer of one must not stand for another.
 */
function containsTransfer(
  logs: ReceiptLogs,
  { token, from, to, value, nonce }: ExpectedTransfer,
): boolean {
  const own = parseEventLogs({
    abi: ABI,
    logs: logs.filter((log) => isAddressEqual(log.address, token)),
  })
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
