import { isAddressEqual, parseAbi, parseEventLogs, type TransactionReceipt } from 'viem'
import type { Hex } from './asset.ts'

/** A transaction that succeeded, by the hub's own node; addresses in lower case. */
export interface MinedTransaction {
  readonly block: bigint
  /** 1 in the newest block. */
  readonly confirmations: bigint
  readonly time: Date
  readonly from: Hex
  /** Whom it gives ETH, and how many wei. Null: it makes a contract. */
  readonly to: Hex | null
  readonly wei: bigint
  /** Transfers of the token, in their order; those of nothing are left out. */
  readonly transfers: readonly TokenTransfer[]
}

export interface TokenTransfer {
  /** The place of the log in its block. */
  readonly logIndex: number
  readonly from: Hex
  readonly to: Hex
  /** Microdollars. */
  readonly value: bigint
}

const ABI = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])

/** The transfers of a token that a receipt tells of. */
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
