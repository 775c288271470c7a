import { createPublicClient, type Hex, http, recoverMessageAddress } from 'viem'
import { base } from 'viem/chains'
import { Fault } from '../errors.ts'

export interface SignedMessage {
  /** In lower case. */
  readonly wallet: `0x${string}`
  readonly message: string
  readonly signature: Hex
}

/** Asks wallets that are contracts whether a signature is theirs. */
export type ContractWallets = (signed: SignedMessage) => Promise<boolean>

/** Appended to the signature of a wallet that is not on the chain yet (ERC-6492). */
const NOT_DEPLOYED = /(?:6492){16}$/i
const EOA_DIGITS = 2 + 2 * 65

/**
 * Proves that a wallet signed a message: an ordinary one by its key (EIP-191, personal_sign), one
 * that is a contract by what the contract says.
 * @throws Fault `invalid_signature`; `validation_failed` for what no key can have signed
 */
export async function assertSigned(
  signed: SignedMessage,
  contracts: ContractWallets | undefined,
): Promise<void> {
  const { wallet, message, signature } = signed
  const isOrdinary = signature.length === EOA_DIGITS
  if (!isOrdinary && !contracts) throw malformed('not 65 bytes')
  const signer = isOrdinary
    ? await recoverMessageAddress({ message, signature }).catch(() => undefined)
    : undefined
  if (signer?.toLowerCase() === wallet || (await contracts?.(signed))) return
  if (isOrdinary && signer === undefined) throw malformed('no key can have made it')
  throw new Fault('invalid_signature')
}

const malformed = (why: string): Fault =>
  new Fault('validation_failed', `/signature: ${why}.`, {
    extras: { issues: [{ path: '/signature', message: why }] },
  })

/** What the check of one signature may take. */
const ANSWER_MS = 5_000

/**
 * Asks by a node: a contract by its `isValidSignature` (ERC-1271), one that is still to be
 * deployed by what its factory would make (ERC-6492), in a call that changes nothing. Other
 * addresses have no contract to ask.
 */
export function contractWallets(rpcUrl: string): ContractWallets {
  const transport = http(rpcUrl, { timeout: ANSWER_MS, retryCount: 0 })
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
