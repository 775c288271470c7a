import { pathToFileURL } from 'node:url'
import type { Pool } from 'pg'
import { openChainLogs } from '../../core/catalog/listings/discovery/chain-logs.ts'
import { withDeadline } from '../../core/clock.ts'
import { isKnownAddress } from '../../core/config/published-keys.ts'
import { ConfigError, type ProductionChain, type RemoteFacilitator } from '../../core/config.ts'
import { createPool } from '../../core/db/pool.ts'
import type { Log } from '../../core/log.ts'
import { logFailure } from '../../core/outages.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { type Chain, openChain } from '../../core/payments/chain/chain.ts'
import { BASE_MAINNET, type ChainIdentity } from '../../core/payments/chain/identity.ts'
import { type NodeTransport, provenNode, WrongChain } from '../../core/payments/chain/node.ts'
import { chainVerified } from '../../core/payments/facilitators/chain-verified.ts'
import {
  assertSupports,
  FacilitatorUnavailable,
} from '../../core/payments/facilitators/facilitator.ts'
import type { GasWallet } from '../../core/payments/facilitators/gas-wallet.ts'
import { type AuthHeaders, httpFacilitator } from '../../core/payments/facilitators/http.ts'
import {
  type LocalFacilitatorOptions,
  localFacilitator,
} from '../../core/payments/facilitators/local.ts'
import {
  type EnvironmentKeys,
  findExcessBalances,
} from '../../core/payments/wallets/environment-keys.ts'
import { openWallet } from '../../core/payments/wallets/open-wallet.ts'
import type { Money } from './options.ts'
import { openNetwork } from './production-networks.ts'

/** Confirmations before a small transfer is final. */
export const FINALITY_BLOCKS = 10n
const { network } = USDC_BASE

interface ProductionMoney {
  readonly money: Money
  /** Connections to the node, which must prove its chain. */
  readonly transport: NodeTransport
  readonly stop: () => Promise<void>
}

/**
 * Opens chain, facilitator and wallets.
 * @throws ConfigError if the node is on another chain or the facilitator is unusable
 */
export async function openProductionMoney(
  settings: ProductionChain,
  databaseUrl: string,
  log: Log,
  {
    pooled = false,
    identity = BASE_MAINNET,
  }: { readonly pooled?: boolean; readonly identity?: ChainIdentity | undefined } = {},
): Promise<ProductionMoney> {
  const { rpcUrl, treasury, facilitator: facilitatorSettings } = settings
  const { transport, isProven } = await openNode(rpcUrl, identity, log)
  const chain = openChain({ rpcUrl, transport, network })
  const { spend, gas } = await openWallets(settings)
  const pool = createPool(databaseUrl, { max: 4, role: 'hub_app', pooled })
  try {
    const settling =
      'url' in facilitatorSettings
        ? await useRemoteFacilitator(facilitatorSettings, chain, [treasury, spend.address], log)
        : useOwnFacilitator({ rpcUrl, transport, key: gas!, network, pool })
    const chainLogs = openChainLogs(rpcUrl, transport)
    const environmentKeys = environmentKeysOf(settings, spend.address, settling.gas)
    if (isProven) await refuseExcess(environmentKeys, chain, log)
    const wallets = { treasury, spend, environmentKeys }
    const networks = (settings.networks ?? []).map((each) => openNetwork(each, log))
    const others = [...settling.others, ...networks.map((each) => each.treasury)]
    const common = { chain, chainLogs, ...wallets, finality: FINALITY_BLOCKS }
    const money = { ...common, ...settling, networks, others }
    return { money, transport, stop: () => pool.end() }
  } catch (error) {
    await pool.end()
    throw error
  }
}

/**
 * Opens the node and proves its chain. While it does not respond, the hub starts, and neither
 * credits nor pays anything until the proof succeeds.
 * @throws ConfigError if it is on another chain
 */
async function openNode(rpcUrl: string, identity: ChainIdentity, log: Log) {
  const onRefused = (err: Error): void =>
    logFailure(
      log,
      'error',
      { err, component: 'blockchain node' },
      'RPC_URL serves another chain: nothing is credited or sent',
    )
  const node = provenNode(rpcUrl, identity, { onRefused })
  const isProven = await node.prove().then(
    () => true,
    (cause: Error) => {
      if (!(cause instanceof WrongChain)) {
        log.warn({ err: cause }, 'RPC_URL does not respond: no payment is accepted until it does')
        return false
      }
      const advice = 'Set RPC_URL to a node of Base mainnet, or unset it to run a sandbox.'
      throw new ConfigError(`RPC_URL: ${cause.shortMessage} ${advice}`, { cause })
    },
  )
  return { transport: node.transport, isProven }
}

/** Opens the wallets. @throws ConfigError if a key cannot be used or two wallets are the same */
async function openWallets({ treasury, spendKey, facilitator, signerTls }: ProductionChain) {
  const spend = await openWallet('SPEND_WALLET', spendKey, signerTls)
  const gas =
    'gasKey' in facilitator
      ? await openWallet('GAS_WALLET', facilitator.gasKey, signerTls)
      : undefined
  const addresses = [treasury, spend.address, ...(gas ? [gas.address] : [])]
  if (new Set(addresses.map((address) => address.toLowerCase())).size < addresses.length) {
    throw new ConfigError('Treasury, spend wallet and gas wallet must be different wallets.')
  }
  const published = addresses.find((address) => isKnownAddress(address))
  if (published) throw new ConfigError(`${published} belongs to a published key.`)
  return { spend, gas }
}

/** Returns the wallets whose key is in the environment. */
function environmentKeysOf(
  { spendKey, facilitator, environmentKeyLimit: limit, ethPrice }: ProductionChain,
  spend: Hex,
  gas: GasWallet | undefined,
): EnvironmentKeys {
  const isGasKeyHere = 'gasKey' in facilitator && facilitator.gasKey.kind === 'environment'
  return {
    limit,
    spend: spendKey.kind === 'environment' ? spend : undefined,
    gas: isGasKeyHere ? gas : undefined,
    ethPrice,
  }
}

/**
 * Checks the balances at start; a job checks them later.
 * @throws ConfigError if a wallet holds more than a key in the environment may protect
 */
async function refuseExcess(keys: EnvironmentKeys, chain: Chain, log: Log): Promise<void> {
  const excess = await findExcessBalances(keys, chain).catch((err: unknown) => {
    log.warn({ err }, 'the balances of the wallets are unknown, and will be checked later')
    return []
  })
  if (excess.length > 0) throw new ConfigError(excess.map(({ sentence }) => sentence).join('\n'))
}

type SettlementParts = Pick<Money, 'facilitator' | 'gas' | 'others'>

function useOwnFacilitator(
  options: LocalFacilitatorOptions & { readonly pool: Pool },
): SettlementParts {
  const facilitator = localFacilitator(options)
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
    const supported = assertSupports(service, network, wallets)
    await withDeadline(FACILITATOR_START_MS, supported).catch(toUnavailable)
    const facilitator = chainVerified(service, { chain, asset: USDC_BASE, name, log })
    return { facilitator, others: [] }
  } catch (cause) {
    if (!(cause instanceof FacilitatorUnavailable || cause instanceof TypeError)) throw cause
    throw new ConfigError(`X402_FACILITATOR_URL (${name}): ${cause.message}\n${ADVICE}`, { cause })
  }
}

/** Maximum milliseconds until the facilitator reports what it supports. */
const FACILITATOR_START_MS = 10_000

const toUnavailable = (cause: Error): never => {
  if (cause instanceof FacilitatorUnavailable) throw cause
  throw new FacilitatorUnavailable(`The facilitator did not respond: ${cause.message}.`, { cause })
}

const ADVICE =
  'Start again when it works, configure another facilitator, or unset X402_FACILITATOR_URL and ' +
  'settle with your own wallet (GAS_WALLET_KEY).'

const bearerHeaders = (token: string): AuthHeaders => {
  const headers = { authorization: `Bearer ${token}` }
  return async () => headers
}

/** Maximum milliseconds to load the module that authenticates at the facilitator. */
const AUTH_MODULE_MS = 10_000

async function loadAuthHeaders(file: string): Promise<AuthHeaders> {
  const loading = withDeadline(AUTH_MODULE_MS, import(pathToFileURL(file).href))
  const { default: make } = await loading.catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(`X402_FACILITATOR_AUTH: ${file} cannot be loaded: ${reason}.`, { cause })
  })
  if (typeof make === 'function') return make
  throw new ConfigError(`X402_FACILITATOR_AUTH: ${file} has no function as its default export.`)
}
