import { numberToHex } from 'viem'
import { z } from 'zod'
import type { Hex } from '../chain/asset.ts'

const hex = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text as Hex)

export const address = hex(/^0x[0-9a-fA-F]{40}$/)
const bytes32 = hex(/^0x[0-9a-fA-F]{64}$/)
const signature = hex(/^0x(?:[0-9a-fA-F]{2})+$/)
export const uint256 = z.string().regex(/^(?:0|[1-9]\d{0,77})$/)

/** Members of a signed transfer (EIP-3009) in an x402 payment. */
const AUTHORIZATION_FIELDS = {
  from: address,
  to: address,
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: bytes32,
}

/** Members of a signed transfer in an MPP credential. */
export const TRANSFER_FIELDS = { signature, ...AUTHORIZATION_FIELDS }

const UINT256_END = 1n << 256n

/** Payload of the scheme `exact`. */
export const exactPayload = z.strictObject({
  signature,
  authorization: z.strictObject(AUTHORIZATION_FIELDS),
})

/** Payload of the scheme `upto`: a Permit2 permit with a witness. */
const uptoPayload = z.strictObject({
  signature,
  permit2Authorization: z.strictObject({
    from: address,
    permitted: z.strictObject({ token: address, amount: uint256 }),
    spender: address,
    nonce: uint256.refine((text) => BigInt(text) < UINT256_END),
    deadline: uint256,
    witness: z.strictObject({ to: address, facilitator: address, validAfter: uint256 }),
  }),
})

// Strict, because a facilitator chooses the kind of transfer by the members of the payload: an
// unchecked one could make another transfer than the one checked here.
export const payload = z.union([exactPayload, uptoPayload])

export type ExactPayload = z.infer<typeof exactPayload>
export type UptoPayload = z.infer<typeof uptoPayload>

/** Transfer that a payment authorizes. */
export interface SignedTransfer {
  /** `upto`: of at most `value`. */
  readonly scheme: 'exact' | 'upto'
  readonly from: Hex
  readonly to: Hex
  readonly value: bigint
  readonly validBefore: bigint
  /** 32 bytes; of a permit, its number. */
  readonly nonce: Hex
}

/** Reads the transfer that a payload authorizes. */
export function transferOf(payload: ExactPayload | UptoPayload): SignedTransfer {
  if ('authorization' in payload) {
    const { from, to, value, validBefore, nonce } = payload.authorization
    const amounts = { value: BigInt(value), validBefore: BigInt(validBefore) }
    return { scheme: 'exact', from, to, nonce, ...amounts }
  }
  const { from, permitted, nonce, deadline, witness } = payload.permit2Authorization
  return {
    scheme: 'upto',
    from,
    to: witness.to,
    value: BigInt(permitted.amount),
    validBefore: BigInt(deadline),
    nonce: numberToHex(BigInt(nonce), { size: 32 }),
  }
}
