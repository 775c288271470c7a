import { encodeFunctionData, parseAbi } from 'viem'
import { type Hex, USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { callRpc } from '../../../../server/sandbox/rpc.ts'
import { eventually } from '../../../support/eventually.ts'
import type { TestHub } from '../../../support/hub.ts'

const ABI = parseAbi(['function transfer(address to, uint256 value)'])
const FEES = { gas: '0x7a120', gasPrice: '0x2540be400' }

/** Sends a transaction from any address on the sandbox chain. @returns its hash once mined */
export async function sendTransaction(
  hub: TestHub,
  from: Hex,
  to: Hex,
  more: object,
): Promise<Hex> {
  const rpc = (method: string, ...params: unknown[]): Promise<unknown> =>
    callRpc(hub.sandbox!.rpcUrl, method, params)
  await rpc('anvil_setBalance', from, '0xde0b6b3a7640000')
  await rpc('anvil_impersonateAccount', from)
  const tx = (await rpc('eth_sendTransaction', { from, to, ...FEES, ...more })) as Hex
  await eventually(async () => (await rpc('eth_getTransactionReceipt', tx)) !== null)
  return tx
}

/** Sends USDC (microdollars). */
export const sendUsdc = (hub: TestHub, from: Hex, to: Hex, value: bigint): Promise<Hex> =>
  sendTransaction(hub, from, USDC_BASE.address, {
    data: encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [to, value] }),
  })

/** Transfers one microdollar from the spend wallet to the treasury. */
export const transferBetweenWallets = (hub: TestHub): Promise<Hex> => {
  const { spend, treasury } = hub.sandbox!.money
  return sendUsdc(hub, spend.address, treasury, 1n)
}
