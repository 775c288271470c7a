import { PERMIT2_ADDRESS, uptoPermit2WitnessTypes, x402UptoPermit2ProxyAddress } from '@x402/evm'
import type { LocalAccount } from 'viem'
import { type Hex, USDC_BASE } from './asset.ts'
import type { Authorization } from './authorization.ts'

/**
 * Signs a permit of Permit2 as a payload of the x402 scheme `upto`: one account may transfer at
 * most `value` to the payee, once. Deterministic.
 * @param facilitator the account, which the payee names
 */
export async function signPermit(
  account: Pick<LocalAccount, 'signTypedData'>,
  { from, to, value, validBefore, nonce }: Authorization,
  facilitator: Hex,
) {
  const { address: token, chainId } = USDC_BASE
  const spender = x402UptoPermit2ProxyAddress
  const number = BigInt(nonce)
  const signature = await account.signTypedData({
    domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2_ADDRESS },
    types: uptoPermit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token, amount: value },
      spender,
      nonce: number,
      deadline: validBefore,
      witness: { to, facilitator, validAfter: 0n },
    },
  })
  const permit2Authorization = {
    from,
    permitted: { token, amount: String(value) },
    spender,
    nonce: String(number),
    deadline: String(validBefore),
    witness: { to, facilitator, validAfter: '0' },
  }
  return { signature, permit2Authorization }
}
