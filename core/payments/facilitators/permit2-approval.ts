import { PERMIT2_ADDRESS } from '@x402/evm'
import { encodeFunctionData, type LocalAccount, maxUint256, parseAbi, parseSignature } from 'viem'
import type { Clock } from '../../clock.ts'
import type { Asset } from '../chain/asset.ts'
import { USDC_DOMAIN } from '../chain/authorization.ts'
import type { Sender } from './sender.ts'

const TOKEN = parseAbi([
  'function allowance(address owner, address spender) view returns (uint256)',
  'function nonces(address owner) view returns (uint256)',
  'function permit(address, address, uint256, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
])
const PERMIT_TYPES = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const

const VALID_SECONDS = 600n
const MS_PER_SECOND = 1_000n
/** More than any purchase: an allowance that was used up to here is renewed. */
const ENOUGH = 10n ** 15n

/**
 * Approves Permit2 for a wallet, once, so that it can sign permits of the scheme `upto`. The wallet
 * signs (EIP-2612), and the gas wallet sends. Permit2 alone moves nothing: it needs a signature of
 * the wallet for each transfer.
 * @throws Error if the node fails or the transaction is in no block in time
 */
export async function approvePermit2(
  { client, send, receipt }: Pick<Sender, 'client' | 'send' | 'receipt'>,
  { address: token }: Asset,
  account: Pick<LocalAccount, 'address' | 'signTypedData'>,
  clock: Clock,
): Promise<void> {
  const { address: owner } = account
  const spender = PERMIT2_ADDRESS
  const read = { address: token, abi: TOKEN } as const
  const allowance = () =>
    client.readContract({ ...read, functionName: 'allowance', args: [owner, spender] })
  if ((await allowance()) >= ENOUGH) return
  const nonce = await client.readContract({ ...read, functionName: 'nonces', args: [owner] })
  const deadline = BigInt(clock.now().getTime()) / MS_PER_SECOND + VALID_SECONDS
  const signature = await account.signTypedData({
    domain: USDC_DOMAIN,
    types: PERMIT_TYPES,
    primaryType: 'Permit',
    message: { owner, spender, value: maxUint256, nonce, deadline },
  })
  const { r, s, yParity } = parseSignature(signature)
  const args = [owner, spender, maxUint256, deadline, yParity + 27, r, s] as const
  const data = encodeFunctionData({ abi: TOKEN, functionName: 'permit', args })
  const hash = await send({ to: token, data })
  const { status } = await receipt(hash, CONFIRMATION_MS)
  // Another process may have approved it first, which uses the number of this permit.
  if (status !== 'success' && (await allowance()) < ENOUGH)
    throw new Error(`the approval of Permit2 failed: ${hash}`)
}

const CONFIRMATION_MS = 20_000
