import { pathToFileURL } from 'node:url'
import type { Pool } from 'pg'
import { privateKeyToAccount } from 'viem/accounts'
import { openChainLogs } from '../../core/catalog/listings/discovery/chain-logs.ts'
import { ConfigError, type ProductionChain, type RemoteFacilitator } from '../../core/config.ts'
import { createPool } from '../../core/db/pool.ts'
import type { Log } from '../../core/log.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { type Chain, openChain } from '../../core/payments/chain/chain.ts'
import { chainVerified } from '../../core/payments/facilitators/chain-verified.ts'
import {
  assertSupports,
  FacilitatorUnavailable,
} from '../../core/payments/facilitators/facilitator.ts'
import { type AuthHeaders, httpFacilitator } from '../../core/payments/facilitators/http.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import type { Money } from './options.ts'

/** Confirmations before a small transfer is final. */
export const FINALITY_BLOCKS = 10n
const { network } = USDC_BASE

/** Opens chain, facilitator and wallets. @throws ConfigError if the facilitator is unusable */
export async function openProductionMoney(
  { rpcUrl, treasury, spendKey, facilitator: facilitatorSettings }: ProductionChain,
  databaseUrl: string,
  log: Log,
  pooled = false,
): Promise<{ readonly money: Money; readonly stop: () => Promise<void> }> {
  const chain = openChain({ rpcUrl, network })
  const spend = privateKeyToAccount(spendKey)
  const pool = createPool(databaseUrl, { max: 4, role: 'hub_app', pooled })
  const settling =
    'url' in facilitatorSettings
      ? await useRemoteFacilitator(facilitatorSettings, chain, [treasury, spend.address], log)
      : useOwnFacilitator(rpcUrl, facilitatorSettings.gasKey, pool)
  const chainLogs = openChainLogs(rpcUrl)
  const money = { chain, chainLogs, treasury, spend, finality: FINALITY_BLOCKS, ...settling }
  return { money, stop: () => pool.end() }
}

type SettlementParts = Pick<Money, 'facilitator' | 'gas' | 'others'>

function useOwnFacilitator(rpcUrl: string, key: Hex, pool: Pool): SettlementParts {
  const facilitator = localFacilitator({ rpcUrl, key, network, pool })
  return { facilitator, gas: facilitator.gas, others: [facilitator.address] }
}

async function useRemoteFacilitator(
  { url, token, authModule }: RemoteFacilitator,
  chain: Chain,
  wallets: readonly Hex[],
  log: Log,
): Promise<SettlementParts> {
  const authHeaders = token
    ? bearerHeaders(token)
    : authModule && (await loadAuthHeaders(authModule))
  const { host: name } = new URL(url)
  try {
    const service = httpFacilitator({ url, ...(authHeaders && { authHeaders }) })
    await assertSupports(service, network, wallets)
    const facilitator = chainVerified(service, { chain, asset: USDC_BASE, name, log })
    return { facilitator, others: [] }
  } catch (cause) {
    if (!(cause instanceof FacilitatorUnavailable || cause instanceof TypeError)) throw cause
    throw new ConfigError(`X402_FACILITATOR_URL (${name}): ${cause.message}\n${ADVICE}`, { cause })
  }
}

const ADVICE =
  'Start again when it works, configure another facilitator, or unset X402_FACILITATOR_URL and ' +
  'settle with your own wallet (GAS_WALLET_KEY).'

const bearerHeaders = (token: string): AuthHeaders => {
  const headers = { authorization: `Bearer ${token}` }
  return async () => headers
}

async function loadAuthHeaders(file: string): Promise<AuthHeaders> {
  const { default: make } = await import(pathToFileURL(file).href).catch((cause: unknown) => {
    throw new ConfigError(`X402_FACILITATOR_AUTH: ${file} cannot be loaded.`, { cause })
  })
  if (typeof make === 'function') return make
  throw new ConfigError(`X402_FACILITATOR_AUTH: ${file} has no function as its default export.`)
}
