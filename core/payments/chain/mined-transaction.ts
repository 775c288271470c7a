import { isAddressEqual, parseAbi, parseEventLogs, type TransactionReceipt } from 'viem'
import type { Hex } from './asset.ts'

/** A successful transaction, read from the hub's own node; addresses in lower case. */
export interface MinedTransaction {
  readonly block: bigint
  /** 1 if it is in the newest block. */
  readonly confirmations: bigint
  readonly time: Date
  readonly from: Hex
  /** Recipient of the ETH; null for a contract creation. */
  readonly to: Hex | null
  readonly wei: bigint
  /** Token transfers in log order, without zero transfers. */
  readonly transfers: readonly TokenTransfer[]
}

export interface TokenTransfer {
  /** Index of the log in its block. */
  readonly logIndex: number
  readonly from: Hex
  readonly to: Hex
  /** Microdollars. */
  readonly value: bigint
}

const ABI = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])

/** Reads the transfers of a token from a receipt. */
export const tokenTransfersIn = (
  { logs }: Pick<TransactionReceipt, 'logs'>,
  token: Hex,
): readonly TokenTransfer[] =>
  parseEventLogs({ abi: ABI, logs: logs.filter((log) => isAddressEqual(log.address, token)) })
    .filter(({ args }) => args.value > 0n)
    .map(({ logIndex, args: { from, to, value } }) => ({
      logIndex,
      from: lowerCaseHex(from),
      to: lowerCaseHex(to),
      value,
    }))

export const lowerCaseHex = (hex: Hex): Hex => hex.toLowerCase() as Hex
