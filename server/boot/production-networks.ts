import type { ProductionNetwork } from '../../core/config/payment-networks.ts'
import type { Log } from '../../core/log.ts'
import { logFailure } from '../../core/outages.ts'
import { assetOf } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { provenNode } from '../../core/payments/chain/node.ts'
import { chainVerified } from '../../core/payments/facilitators/chain-verified.ts'
import { assertSupports } from '../../core/payments/facilitators/facilitator.ts'
import { httpFacilitator } from '../../core/payments/facilitators/http.ts'
import { componentOn, type PaymentNetwork } from '../../core/payments/networks.ts'

/**
 * Opens a further network, whose payments a facilitator service settles. Its node and service need
 * not respond at the start: a hub sells on Base whatever happens to another network. Until the node
 * has proven its chain, and unless the service supports the network, no payment on it is accepted.
 */
export function openNetwork(settings: ProductionNetwork, log: Log): PaymentNetwork {
  const { network, rpc, genesis, facilitator: url, token, treasury, confirmations } = settings
  const asset = assetOf(network)
  const report = (what: string, message: string) => (err: unknown) =>
    logFailure(log, 'error', { err, component: componentOn(what, network) }, message)
  const identity = { chainId: asset.chainId, genesis, asset, code: [], blockOpener: undefined }
  const refused = report('blockchain node', 'a node of HUB_X402_NETWORKS serves another chain')
  const { transport } = provenNode(rpc, identity, { onRefused: refused })
  const chain = openChain({ rpcUrl: rpc, transport, network })
  const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  const service = httpFacilitator({
    url,
    ...(authorization && { authHeaders: async () => authorization }),
  })
  assertSupports(service, network, [treasury]).catch(
    report('facilitator', 'a facilitator of HUB_X402_NETWORKS cannot be used'),
  )
  const { host: name } = new URL(url)
  const facilitator = chainVerified(service, { chain, asset, name, log })
  return { asset, chain, finality: BigInt(confirmations), facilitator, treasury }
}
