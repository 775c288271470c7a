import { encodeFunctionData, type LocalAccount, parseAbi } from 'viem'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { eventually } from '../../support/eventually.ts'

const ABI = parseAbi(['function cancelAuthorization(address, bytes32, bytes)'])
/** Sends transactions for signers without gas. */
const SENDER: Hex = '0x00000000000000000000000000000000000000fb'

/** Cancels an authorization on the chain, as its signer may at any time. */
export async function cancelAuthorization(
  rpcUrl: string,
  account: LocalAccount,
  nonce: Hex,
): Promise<void> {
  const rpc = (method: string, ...params: unknown[]) => callRpc(rpcUrl, method, params)
  const { name, version, chainId, address } = USDC_BASE
  const signature = await account.signTypedData({
    domain: { name, version, chainId, verifyingContract: address },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: account.address, nonce },
  })
  const args = [account.address, nonce, signature] as const
  const data = encodeFunctionData({ abi: ABI, functionName: 'cancelAuthorization', args })
  await rpc('anvil_setBalance', SENDER, '0xde0b6b3a7640000')
  await rpc('anvil_impersonateAccount', SENDER)
  const hash = await rpc('eth_sendTransaction', { from: SENDER, to: address, data })
  await eventually(async () => (await rpc('eth_getTransactionReceipt', hash)) !== null)
}
