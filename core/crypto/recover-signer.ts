import { type Hex, hashMessage, hexToBytes, keccak256 } from 'viem'

const SIGNATURE = /^0x[0-9a-fA-F]{130}$/
/** Length of r and s, which the recovery id follows. */
const COMPACT_BYTES = 64
/** Recovery ids by the last byte of a signature. */
const RECOVERY_IDS: ReadonlyMap<number | undefined, 0 | 1> = new Map([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
])

/**
 * Recovers the address whose key made a signature of a hash, in lower case. Returns undefined for a
 * signature that no key can have made, or that has not 65 bytes. Same results as `recoverAddress`
 * of viem, which computes in JavaScript: this is libsecp256k1 in WebAssembly, imported lazily.
 */
export async function recoverSigner(hash: Hex, signature: Hex): Promise<Hex | undefined> {
  if (!SIGNATURE.test(signature)) return undefined
  const bytes = hexToBytes(signature)
  const recoveryId = RECOVERY_IDS.get(bytes[COMPACT_BYTES])
  if (recoveryId === undefined) return undefined
  const { recover } = await import('tiny-secp256k1')
  try {
    const key = recover(hexToBytes(hash), bytes.subarray(0, COMPACT_BYTES), recoveryId, false)
    return key ? `0x${keccak256(key.subarray(1)).slice(-40)}` : undefined
  } catch {
    return undefined // r or s is not below the order of the curve
  }
}

/** Recovers the signer of a message by EIP-191 (personal_sign), as `recoverSigner` does. */
export const recoverMessageSigner = (message: string, signature: Hex): Promise<Hex | undefined> =>
  recoverSigner(hashMessage(message), signature)
