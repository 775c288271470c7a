import { resolve } from 'node:path'
import { type Micros, micros } from '../money.ts'
import {
  type SignerTls,
  type WalletSource,
  walletSourceOf,
} from '../payments/wallets/wallet-source.ts'
import { ConfigError } from '../runtime/config-error.ts'
import type { Environment } from './environment.ts'
import { type ProductionNetwork, productionNetworks } from './payment-networks.ts'
import { productionVariables, REQUIRED } from './production-variables.ts'
import { findUnsafeSettings } from './unsafe-settings.ts'

/** Chain, wallets and payment settlement of a hub that handles real money. */
export interface ProductionChain {
  readonly rpcUrl: string
  readonly treasury: `0x${string}`
  readonly spendKey: WalletSource
  /** A remote facilitator, or the key of the platform wallet that pays gas. */
  readonly facilitator: RemoteFacilitator | { readonly gasKey: WalletSource }
  readonly signerTls: SignerTls
  /** Maximum balance of a wallet whose key is in the environment. */
  readonly environmentKeyLimit: Micros
  /** Microdollars per ETH; 0 if a remote facilitator pays gas. */
  readonly ethPrice: Micros
  /** Further networks on which callers can pay. @defaultValue none */
  readonly networks?: readonly ProductionNetwork[]
}

export interface RemoteFacilitator {
  readonly url: string
  /** Bearer token of each request. */
  readonly token?: string
  /** Path of a module whose default export returns the headers of each request. */
  readonly authModule?: string
}

/**
 * Returns the production settings; undefined for a sandbox.
 * @throws ConfigError that names all missing variables and all values not safe with real money
 */
export function productionOf(e: Environment): ProductionChain | undefined {
  const selecting = productionVariables(e)
  if (selecting.length === 0) return undefined
  const wallets = walletsOf(e)
  const missing: string[] = REQUIRED.filter((name) => e[name] === undefined)
  if (!wallets.spend) missing.push(anyOf('SPEND_WALLET'))
  if (!e.DATABASE_URL) missing.push('DATABASE_URL')
  if (!e.HUB_BASE_URL) missing.push('HUB_BASE_URL')
  if (!e.HUB_SIGNING_KEY) missing.push('HUB_SIGNING_KEY')
  if (!e.X402_FACILITATOR_URL && !wallets.gas) {
    missing.push('X402_FACILITATOR_URL or GAS_WALLET_KEY')
  }
  if (!e.X402_FACILITATOR_URL && wallets.gas && e.HUB_ETH_PRICE === undefined) {
    missing.push('HUB_ETH_PRICE')
  }
  const set = selecting.join(', ')
  const unsafe = findUnsafeSettings(e)
  const faults = [
    ...(missing.length > 0
      ? [`Production requires these variables too: ${missing.join(', ')}.`]
      : []),
    ...(unsafe.length > 0 ? ['These settings are not safe with real money:', ...unsafe] : []),
  ]
  if (faults.length > 0) {
    throw new ConfigError([...faults, `To run a sandbox, unset ${set}.`].join('\n'))
  }
  return {
    rpcUrl: e.RPC_URL!,
    treasury: e.TREASURY_ADDRESS as `0x${string}`,
    spendKey: wallets.spend!,
    facilitator: facilitatorOf(e, wallets.gas),
    signerTls: { ca: e.HUB_SIGNER_CA, cert: e.HUB_SIGNER_CERT, key: e.HUB_SIGNER_CERT_KEY },
    environmentKeyLimit: e.HUB_ENV_KEY_MAX_BALANCE,
    ethPrice: e.HUB_ETH_PRICE ?? micros(0),
    networks: productionNetworks(e.HUB_X402_NETWORKS),
  }
}

const anyOf = (name: string): string => `${name}_KEY or ${name}_KEY_FILE or ${name}_SIGNER`

/** @throws ConfigError if the variables of a wallet contradict each other */
function walletsOf(e: Environment) {
  const spend = walletSourceOf('SPEND_WALLET', {
    key: e.SPEND_WALLET_KEY,
    file: e.SPEND_WALLET_KEY_FILE,
    signer: e.SPEND_WALLET_SIGNER,
    address: e.SPEND_WALLET_ADDRESS,
  })
  const gas = walletSourceOf('GAS_WALLET', {
    key: e.GAS_WALLET_KEY,
    file: e.GAS_WALLET_KEY_FILE,
    signer: e.GAS_WALLET_SIGNER,
    address: e.GAS_WALLET_ADDRESS,
  })
  if (typeof spend === 'string') throw new ConfigError(spend)
  if (typeof gas === 'string') throw new ConfigError(gas)
  return { spend, gas }
}

function facilitatorOf(
  e: Environment,
  gas: WalletSource | undefined,
): ProductionChain['facilitator'] {
  const { X402_FACILITATOR_URL: url, X402_FACILITATOR_TOKEN: token } = e
  if (!url) return { gasKey: gas! }
  const authModule = e.X402_FACILITATOR_AUTH
  if (token && authModule) {
    throw new ConfigError('Set X402_FACILITATOR_TOKEN or X402_FACILITATOR_AUTH, not both.')
  }
  return { url, ...(token && { token }), ...(authModule && { authModule: resolve(authModule) }) }
}
