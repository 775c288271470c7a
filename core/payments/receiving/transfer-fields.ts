import { z } from 'zod'
import type { Hex } from '../chain/asset.ts'

const hex = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text as Hex)

export const address = hex(/^0x[0-9a-fA-F]{40}$/)
const bytes32 = hex(/^0x[0-9a-fA-F]{64}$/)
export const signature = hex(/^0x(?:[0-9a-fA-F]{2})+$/)
export const uint256 = z.string().regex(/^(?:0|[1-9]\d{0,77})$/)

/** Members of a signed transfer (EIP-3009) in an x402 payment. */
export const AUTHORIZATION_FIELDS = {
  from: address,
  to: address,
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: bytes32,
}

/** Members of a signed transfer in an MPP credential. */
export const TRANSFER_FIELDS = { signature, ...AUTHORIZATION_FIELDS }
