import { resolve } from 'node:path'
import { ConfigError } from '../runtime/config-error.ts'
import type { Environment } from './environment.ts'

/** Chain, wallets and payment settlement of a hub that handles real money. */
export interface ProductionChain {
  readonly rpcUrl: string
  readonly treasury: `0x${string}`
  readonly spendKey: `0x${string}`
  /** A remote facilitator, or the key of the platform wallet that pays gas. */
  readonly facilitator: RemoteFacilitator | { readonly gasKey: `0x${string}` }
}

export interface RemoteFacilitator {
  readonly url: string
  /** Bearer token of each request. */
  readonly token?: string
  /** Path of a module whose default export returns the headers of each request. */
  readonly authModule?: string
}

const REQUIRED = ['RPC_URL', 'TREASURY_ADDRESS', 'SPEND_WALLET_KEY'] as const

/** Returns the production settings; undefined for a sandbox. @throws ConfigError */
export function productionOf(e: Environment): ProductionChain | undefined {
  const any = [...REQUIRED, 'X402_FACILITATOR_URL', 'GAS_WALLET_KEY'] as const
  if (any.every((name) => e[name] === undefined)) return undefined
  const missing: string[] = REQUIRED.filter((name) => e[name] === undefined)
  if (!e.DATABASE_URL) missing.push('DATABASE_URL')
  if (!e.HUB_BASE_URL) missing.push('HUB_BASE_URL')
  if (!e.HUB_SIGNING_KEY) missing.push('HUB_SIGNING_KEY')
  if (!e.X402_FACILITATOR_URL && !e.GAS_WALLET_KEY) {
    missing.push('X402_FACILITATOR_URL or GAS_WALLET_KEY')
  }
  if (!e.X402_FACILITATOR_URL && e.GAS_WALLET_KEY && e.HUB_ETH_PRICE === undefined) {
    missing.push('HUB_ETH_PRICE')
  }
  if (missing.length > 0) {
    throw new ConfigError(
      `Production requires these variables too: ${missing.join(', ')}.\n` +
        `To run a sandbox, unset ${any.filter((name) => e[name] !== undefined).join(', ')}.`,
    )
  }
  return {
    rpcUrl: e.RPC_URL!,
    treasury: e.TREASURY_ADDRESS as `0x${string}`,
    spendKey: e.SPEND_WALLET_KEY as `0x${string}`,
    facilitator: facilitatorOf(e),
  }
}

function facilitatorOf(e: Environment): ProductionChain['facilitator'] {
  const { X402_FACILITATOR_URL: url, X402_FACILITATOR_TOKEN: token } = e
  if (!url) return { gasKey: e.GAS_WALLET_KEY as `0x${string}` }
  const authModule = e.X402_FACILITATOR_AUTH
  if (token && authModule) {
    throw new ConfigError('Set X402_FACILITATOR_TOKEN or X402_FACILITATOR_AUTH, not both.')
  }
  return { url, ...(token && { token }), ...(authModule && { authModule: resolve(authModule) }) }
}
