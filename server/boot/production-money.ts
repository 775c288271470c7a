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

/** Blocks with a small transfer and on top of it before it is final. */
export const FINALITY_BLOCKS = 10n
const { network } = USDC_BASE

/**
 * The chain, facilitator and wallets that the configuration names.
 * @throws ConfigError when the facilitator does not answer, or does not settle what the hub sells
 */
export async function openRealMoney(
  { rpcUrl, treasury, spendKey, facilitator: by }: ProductionChain,
  databaseUrl: string,
  log: Log,
  /** See `PoolOptions`. */
  pooled = false,
): Promise<{ readonly money: Money; readonly stop: () => Promise<void> }> {
  const chain = openChain({ rpcUrl, network })
  const spend = privateKeyToAccount(spendKey)
  const pool = createPool(databaseUrl, { max: 4, role: 'hub_app', pooled }) // once it is migrated
  const settling =
    'url' in by
      ? await remote(by, chain, [treasury, spend.address], log)
      : own(rpcUrl, by.gasKey, pool)
  const chainLogs = openChainLogs(rpcUrl)
  const money = { chain, chainLogs, treasury, spend, finality: FINALITY_BLOCKS, ...settling }
  return { money, stop: () => pool.end() }
}

type Settling = Pick<Money, 'facilitator' | 'gas' | 'others'>

function own(rpcUrl: string, key: Hex, pool: Pool): Settling {
  const facilitator = localFacilitator({ rpcUrl, key, network, pool })
  return { facilitator, gas: facilitator.gas, others: [facilitator.address] }
}

async function remote(
  { url, token, authModule }: RemoteFacilitator,
  chain: Chain,
  wallets: readonly Hex[],
  log: Log,
): Promise<Settling> {
  const authHeaders = token ? bearer(token) : authModule && (await authHeadersOf(authModule))
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
  'Start again when it works, name another facilitator, or unset X402_FACILITATOR_URL and settle ' +
  'with a wallet of your own (GAS_WALLET_KEY).'

const bearer = (token: string): AuthHeaders => {
  const headers = { authorization: `Bearer ${token}` }
  return async () => headers
}

async function authHeadersOf(file: string): Promise<AuthHeaders> {
  const { default: make } = await import(pathToFileURL(file).href).catch((cause: unknown) => {
    throw new ConfigError(`X402_FACILITATOR_AUTH: ${file} cannot be loaded.`, { cause })
  })
  if (typeof make === 'function') return make
  throw new ConfigError(`X402_FACILITATOR_AUTH: ${file} has no function as its default export.`)
}
