import type { evm } from 'mppx/server'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'

type ChargeOptions = Parameters<typeof evm.charge>[0]

/** Options of `evm.charge` of mppx for USDC on Base, settled by a facilitator of x402. */
export function chargeOptions(facilitator: () => Facilitator, recipient: Hex) {
  const { chainId, address: currency, name, version, decimals, network } = USDC_BASE
  const settle: NonNullable<ChargeOptions['settle']> = async ({ payload }) => {
    const { type: _, signature, ...authorization } = payload
    const accepted = {
      scheme: 'exact',
      network,
      amount: payload.value,
      asset: currency,
      payTo: recipient,
      maxTimeoutSeconds: 300,
      extra: { name, version },
    }
    const payment = { x402Version: 2, accepted, payload: { signature, authorization } }
    const settled = await facilitator().settle(payment, accepted)
    if (!settled.success) throw new Error(settled.errorReason)
    return { reference: settled.transaction }
  }
  return { chainId, currency, decimals, recipient, authorization: { name, version }, settle }
}
