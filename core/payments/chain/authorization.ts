import type { LocalAccount } from 'viem'
import { type Hex, USDC_BASE } from './asset.ts'

/** A transfer of USDC that whoever shows its signature may have made, once (EIP-3009). */
export interface Authorization {
  readonly from: Hex
  readonly to: Hex
  /** Microdollars. */
  readonly value: bigint
  /** Unix seconds of chain time from which it is dead. */
  readonly validBefore: bigint
  /** 32 bytes; with `from` it is known by them on the chain. */
  readonly nonce: Hex
}

/** EIP-3009 as EIP-712 types; the order of the fields is part of the signature. */
const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** From our own table, never from whoever is paid. */
const DOMAIN = {
  name: USDC_BASE.name,
  version: USDC_BASE.version,
  chainId: USDC_BASE.chainId,
  verifyingContract: USDC_BASE.address,
} as const

/**
 * Signs an authorization, as the payload of x402 has it. The same one gives the same signature. It
 * is valid from the beginning of time, as the clients of x402 do: the other side's clock may be
 * slow.
 */
export async function signAuthorization(
  account: Pick<LocalAccount, 'signTypedData'>,
  authorization: Authorization,
) {
  const { from, to, value, validBefore, nonce } = authorization
  const message = { from, to, value, validAfter: 0n, validBefore, nonce }
  const signature = await account.signTypedData({
    domain: DOMAIN,
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const times = { validAfter: '0', validBefore: String(validBefore) }
  return { signature, authorization: { from, to, value: String(value), ...times, nonce } }
}
