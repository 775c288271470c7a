import type { LocalAccount } from 'viem'
import { type Hex, USDC_BASE } from './asset.ts'

/** A transfer of USDC that the holder of its signature may execute once (EIP-3009). */
export interface Authorization {
  readonly from: Hex
  readonly to: Hex
  /** Microdollars. */
  readonly value: bigint
  /** Unix seconds of chain time at which it expires. */
  readonly validBefore: bigint
  /** 32 bytes; with `from` they identify the authorization on the chain. */
  readonly nonce: Hex
}

/** EIP-3009 as EIP-712 types; the order of the fields is part of the signature. */
export const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** EIP-712 domain of USDC, taken from the hub's own table and never from the payee. */
export const USDC_DOMAIN = {
  name: USDC_BASE.name,
  version: USDC_BASE.version,
  chainId: USDC_BASE.chainId,
  verifyingContract: USDC_BASE.address,
} as const

/**
 * Signs an authorization as an x402 payload. Deterministic: the same authorization gives the same
 * signature. Valid from time zero, like other x402 clients, because the receiver's clock may lag.
 */
export async function signAuthorization(
  account: Pick<LocalAccount, 'signTypedData'>,
  authorization: Authorization,
) {
  const { from, to, value, validBefore, nonce } = authorization
  const message = { from, to, value, validAfter: 0n, validBefore, nonce }
  const signature = await account.signTypedData({
    domain: USDC_DOMAIN,
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const times = { validAfter: '0', validBefore: String(validBefore) }
  return { signature, authorization: { from, to, value: String(value), ...times, nonce } }
}
