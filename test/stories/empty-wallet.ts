import { callRpc } from '../../server/sandbox/rpc.ts'
import { eventually } from '../support/eventually.ts'
import type { TestHub } from '../support/hub.ts'

/** Returns a function that sends all USDC of a wallet away, without its key. */
export async function walletEmptier(
  { sandbox, hub }: TestHub,
  address: `0x${string}`,
): Promise<() => Promise<void>> {
  const { rpcUrl } = sandbox!
  const { asset, chain } = hub.paymentDeps
  await callRpc(rpcUrl, 'anvil_setBalance', [address, '0xde0b6b3a7640000'])
  await callRpc(rpcUrl, 'anvil_impersonateAccount', [address])
  return async () => {
    const amount = (await chain.balanceOf(address)).toString(16).padStart(64, '0')
    const data = `0xa9059cbb${'0'.repeat(24)}${'dead'.repeat(10)}${amount}`
    await callRpc(rpcUrl, 'eth_sendTransaction', [{ from: address, to: asset.address, data }])
    await eventually(async () => (await chain.balanceOf(address)) === 0n)
  }
}
