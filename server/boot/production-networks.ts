import type { ProductionNetwork } from '../../core/config/payment-networks.ts'
import type { Log } from '../../core/log.ts'
import { logFailure } from '../../core/outages.ts'
import { assetOf } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { provenNode } from '../../core/payments/chain/node.ts'
import { chainVerified } from '../../core/payments/facilitators/chain-verified.ts'
import {
  assertSupports,
  type Facilitator,
  FacilitatorUnavailable,
} from '../../core/payments/facilitators/facilitator.ts'
import { httpFacilitator } from '../../core/payments/facilitators/http.ts'
import { componentOn, type PaymentNetwork } from '../../core/payments/networks.ts'

/**
 * Opens a further network, whose payments a facilitator service settles. Its node and service need
 * not respond at the start: a hub sells on Base whatever happens to another network. No payment on
 * it is accepted until the node has proven its chain, and the service that it supports the network.
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
  const { host: name } = new URL(url)
  const unusable = report('facilitator', 'a facilitator of HUB_X402_NETWORKS cannot be used')
  const prove = once(async () => {
    await assertSupports(service, network, [treasury]).catch((error: unknown) => {
      unusable(error)
      throw error
    })
    await chain.head()
  })
  prove().catch(() => undefined) // both have logged it; each payment tries again
  const verified = chainVerified(service, { chain, asset, name, log })
  const facilitator: Facilitator = {
    ...verified,
    async verify(...args) {
      await prove().catch((cause: unknown) => {
        throw new FacilitatorUnavailable(`Payments on ${network} are not possible now.`, { cause })
      })
      return verified.verify(...args)
    },
  }
  return { asset, chain, finality: BigInt(confirmations), facilitator, treasury }
}

/** Runs `work` until it succeeds once; calls at the same time share a try. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () =>
    (done ??= work().catch((error: unknown) => {
      done = undefined
      throw error
    }))
}
