import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Log } from '../../core/log.ts'
import { assetOf, type Network } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { chainVerified } from '../../core/payments/facilitators/chain-verified.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import type { PaymentNetwork } from '../../core/payments/networks.ts'
import { startChain } from './chain.ts'
import { fund, type Wallets } from './wallets.ts'

/** Address of the local chain of a further network. */
export interface NetworkPlace {
  readonly network: Network
  readonly rpcUrl: string
}

const GAS_WEI = 10n ** 19n

/**
 * Starts a local chain of its own for each further network, and funds the gas wallet there.
 * @param stops gets what stops the chains
 */
export async function startNetworks(
  options: { readonly dataDir: string; readonly networks?: readonly Network[]; readonly log: Log },
  { gas }: Wallets,
  stops: (() => Promise<void>)[],
): Promise<readonly NetworkPlace[]> {
  const log = (text: string): void => options.log.info(text)
  const places: NetworkPlace[] = []
  for (const network of options.networks ?? []) {
    const asset = assetOf(network)
    const dataDir = join(options.dataDir, `chain-${asset.v1Network}`)
    const chain = await startChain({ dataDir, port: 0, asset, log })
    stops.push(() => chain.stop())
    const { rpcUrl } = chain
    await fund(rpcUrl, gas.account.address, { wei: GAS_WEI })
    places.push({ network, rpcUrl })
  }
  return places
}

/** Opens a further network. Its facilitator is treated like a service: the chain has to agree. */
export function openSandboxNetwork(
  { network, rpcUrl }: NetworkPlace,
  { treasury, gas: { key } }: Wallets,
  pool: Pool,
  log: Log,
): PaymentNetwork {
  const asset = assetOf(network)
  const chain = openChain({ rpcUrl, network })
  const local = localFacilitator({ rpcUrl, key, network, pool, pollMs: 50 })
  const name = `${asset.v1Network} sandbox`
  const facilitator = chainVerified(local, { chain, asset, name, log })
  return { asset, chain, finality: 1n, facilitator, treasury: treasury.account.address }
}
