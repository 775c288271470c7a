import { createPublicClient, type Hex, type HttpTransportConfig, type Transport } from 'viem'
import { base } from 'viem/op-stack'
import { recoverMessageSigner } from '../crypto/recover-signer.ts'
import { Fault } from '../errors.ts'

export interface SignedMessage {
  /** Lower case. */
  readonly wallet: `0x${string}`
  readonly message: string
  readonly signature: Hex
}

/** Checks whether a signature is valid for a contract wallet. */
export type ContractVerifier = (signed: SignedMessage) => Promise<boolean>

/** Suffix of signatures of wallets that are not deployed yet (ERC-6492). */
const NOT_DEPLOYED = /(?:6492){16}$/i
const EOA_DIGITS = 2 + 2 * 65

/**
 * Verifies that a wallet signed a message: an externally owned account by EIP-191 (personal_sign),
 * a contract wallet through `contracts`.
 * @throws Fault `invalid_signature`; `validation_failed` for a malformed signature
 */
export async function assertSigned(
  signed: SignedMessage,
  contracts: ContractVerifier | undefined,
): Promise<void> {
  const { wallet, message, signature } = signed
  const isEoaLength = signature.length === EOA_DIGITS
  if (!isEoaLength && !contracts) throw malformedSignature('must be 65 bytes')
  const signer = isEoaLength ? await recoverMessageSigner(message, signature) : undefined
  if (signer === wallet || (await contracts?.(signed))) return
  if (isEoaLength && signer === undefined) throw malformedSignature('no key can have made it')
  throw new Fault('invalid_signature')
}

const malformedSignature = (message: string): Fault =>
  new Fault('validation_failed', `/signature: ${message}.`, {
    extras: { issues: [{ path: '/signature', message }] },
  })

/** Timeout of one signature check. */
const TIMEOUT_MS = 5_000

/**
 * Creates a verifier that calls a node, without a transaction: a deployed contract by
 * `isValidSignature` (ERC-1271), a wallet not yet deployed through its factory (ERC-6492). Other
 * addresses have no contract and fail.
 */
export function createContractVerifier(
  connect: (options: HttpTransportConfig) => Transport,
): ContractVerifier {
  const transport = connect({ timeout: TIMEOUT_MS, retryCount: 0 })
  const client = createPublicClient({ chain: base, transport, cacheTime: 0 })
  return async ({ wallet: address, message, signature }) => {
    try {
      const code = NOT_DEPLOYED.test(signature) ? signature : await client.getCode({ address })
      return code !== undefined && (await client.verifyMessage({ address, message, signature }))
    } catch (cause) {
      throw new Fault('chain_unavailable', undefined, { cause })
    }
  }
}
