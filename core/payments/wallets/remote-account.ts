import { secp256k1 } from '@noble/curves/secp256k1'
import {
  hashTypedData,
  keccak256,
  numberToHex,
  type SerializeTransactionFn,
  serializeSignature,
  serializeTransaction,
  type TransactionSerializable,
  type TransactionSerializableEIP1559,
  type TypedDataDefinition,
} from 'viem'
import { type LocalAccount, toAccount } from 'viem/accounts'
import { recoverSigner } from '../../crypto/recover-signer.ts'
import { Unavailable } from '../../outages.ts'
import { ttlCache } from '../../runtime/cache.ts'
import type { Hex } from '../chain/asset.ts'

/** A remote signer gave no signature that can be used. Nothing was signed for or sent. */
export class SignerUnavailable extends Unavailable {
  override readonly name = 'SignerUnavailable'
  readonly component = 'signer'
}

/** Signature without recovery bit, as numbers. */
export interface RawSignature {
  readonly r: bigint
  readonly s: bigint
}

/**
 * Signs with a key that never leaves another process. Errors of any kind mean that there is no
 * signature.
 */
export interface RemoteSigner {
  /** @throws Error unless the signer has the key of the address */
  assertKey(address: Hex): Promise<void>
  /** @param hash EIP-712 hash of `data` */
  signTypedData(address: Hex, data: TypedDataDefinition, hash: Hex): Promise<RawSignature>
  /** @param hash hash of the serialized transaction */
  signTransaction(
    address: Hex,
    transaction: TransactionSerializableEIP1559,
    hash: Hex,
  ): Promise<RawSignature>
}

/**
 * Account of a remote signer. Each signature is checked against the hash computed here and the
 * address: a signature of another key, or of other contents, is refused.
 */
export function remoteAccount(address: Hex, signer: RemoteSigner): LocalAccount {
  // Some signers sign differently each time; a payment is recognized by its signature.
  const signatures = ttlCache<Hex, Hex>({ ttlMs: REPEAT_MS, max: REPEATS_MAX })
  return toAccount({
    address,
    signMessage: () => {
      throw new SignerUnavailable('The wallet signs payments and transactions only.')
    },
    async signTypedData(data) {
      const definition = data as TypedDataDefinition
      const hash = hashTypedData(definition)
      const known = signatures.get(hash)
      if (known) return known
      const signed = await guard(() => signer.signTypedData(address, definition, hash))
      const signature = serializeSignature(await completeSignature(signed, hash, address))
      signatures.set(hash, signature)
      return signature
    },
    async signTransaction<Serializer extends SerializeTransactionFn<TransactionSerializable>>(
      transaction: Parameters<Serializer>[0],
    ) {
      const unsigned = { ...transaction, type: 'eip1559' } as TransactionSerializableEIP1559
      const hash = keccak256(serializeTransaction(unsigned))
      const signed = await guard(() => signer.signTransaction(address, unsigned, hash))
      return serializeTransaction(unsigned, await completeSignature(signed, hash, address))
    },
  })
}

/** Time for which the same payment gets the same signature; payouts are valid for less. */
const REPEAT_MS = 3_600_000
const REPEATS_MAX = 10_000

async function guard<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof SignerUnavailable) throw cause
    const text = cause instanceof Error ? cause.message : String(cause)
    throw new SignerUnavailable(`The remote signer did not sign: ${text}`, { cause })
  }
}

const { n: ORDER } = secp256k1.CURVE

/**
 * Finds the recovery bit and lowers `s` to the half that Ethereum accepts (EIP-2).
 * @throws SignerUnavailable if the address did not sign the hash
 */
async function completeSignature({ r, s }: RawSignature, hash: Hex, address: Hex) {
  const isInRange = r > 0n && r < ORDER && s > 0n && s < ORDER
  const low = s > ORDER / 2n ? ORDER - s : s
  for (const yParity of isInRange ? [0, 1] : []) {
    const signature = {
      r: numberToHex(r, { size: 32 }),
      s: numberToHex(low, { size: 32 }),
      yParity,
    }
    const signer = await recoverSigner(hash, serializeSignature(signature))
    if (signer === address.toLowerCase()) return signature
  }
  throw new SignerUnavailable(
    `The remote signer returned a signature that is not one of ${address} for this payment.`,
  )
}
