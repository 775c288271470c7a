import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { openChainLogs } from '../../core/catalog/listings/discovery/chain-logs.ts'
import { type HubDatabase, type LoginOptions, openLogins } from '../../core/db/logins.ts'
import { openDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import type { SandboxHosts } from '../../core/egress/sandbox.ts'
import type { Log } from '../../core/log.ts'
import { type Micros, micros } from '../../core/money.ts'
import { type Network, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import type { Money } from '../boot/options.ts'
import { type SandboxChain, startChain } from './chain.ts'
import { type Magazine, startMagazine } from './magazine.ts'
import { type NetworkPlace, openSandboxNetwork, startNetworks } from './networks.ts'
import { type ReplacedChain, replaceChain } from './replace-chain.ts'
import { callRpc } from './rpc.ts'
import { startSeller } from './seller.ts'
import { fund, openWallets, type Wallets } from './wallets.ts'

/** Host name under which the egress guard allows calls to the sample seller. */
const SELLER_HOST = 'seller.test'
/** Host name of the sample site whose pages are sold. */
export const MAGAZINE_HOST = 'magazine.test'

/** Addresses of a sandbox, for other processes that join it. */
export interface SandboxPlace {
  /** Login of the owner of the built-in database, or the configured ones. */
  readonly logins: LoginOptions
  readonly rpcUrl: string
  /** Port on 127.0.0.1, like the next one. */
  readonly sellerPort: number
  readonly magazinePort: number
  /** Chains of the further networks on which callers can pay. */
  readonly networks: readonly NetworkPlace[]
}

/** The environment of a hub with test money, all on this machine. */
export interface Sandbox extends SandboxPlace {
  readonly database: HubDatabase
  readonly money: Money
  readonly wallets: Wallets
  /** Origin of the sample seller, for `POST /external`. */
  readonly sellerUrl: string
  /** URL of a page that is for sale. */
  readonly pageUrl: string
  readonly hosts: SandboxHosts
  /** Undefined if another process started it. */
  readonly magazine?: Magazine
  /** Opening balance of the spend wallet, in microdollars. */
  readonly spendOpening: Micros
  /** Set if this start replaced the chain by a new one. */
  readonly replacedChain?: ReplacedChain | undefined
  /** True if an earlier start has prepared all that requests need. */
  readonly isPrepared: boolean
  stop(): Promise<void>
}

/** Confirmations before a transfer is final: the local chain reorganizes only in tests. */
export const SANDBOX_FINALITY = 1n
const ETH = 10n ** 18n
const GAS_WEI = 10n * ETH
const SPEND_MICROS = micros(50_000_000)
const AGENT_MICROS = 100_000_000n

/** Starts the database (unless one is given), chain, funded wallets and sample sites. */
export async function startSandbox(options: {
  readonly dataDir: string
  /** Logins of an external database; undefined: the built-in one. */
  readonly logins: LoginOptions | undefined
  readonly log: Log
  /** CAIP-2 names of further networks on which callers can pay. @defaultValue none */
  readonly networks?: readonly Network[]
  /** True to archive the chain and start a new one. @defaultValue false */
  readonly resetsChain?: boolean
}): Promise<Sandbox> {
  const { dataDir, resetsChain = false } = options
  const log = (text: string): void => options.log.info(text)
  const warn = (text: string): void => options.log.warn(text)
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const opened = openDatabase(options.logins ?? { dataDir, log, warn }).then(async (found) => {
      stops.push(() => found.close())
      const logins = options.logins ?? { url: found.url }
      return { logins, database: await openLogins(logins, log) }
    })
    const place = { dataDir: join(dataDir, 'chain'), port: 0, log }
    const started: Promise<SandboxChain & { readonly replaced?: ReplacedChain }> = resetsChain
      ? opened.then((ledger) => replaceChain(place, ledger.database.url))
      : startChain(place)
    const opening = [
      opened,
      started.then((chain) => {
        stops.push(() => chain.stop())
        return chain
      }),
      openWallets(dataDir),
    ] as const
    await Promise.allSettled(opening) // a failure stops the others
    const [{ logins, database }, chain, wallets] = await Promise.all(opening)
    const { rpcUrl } = chain
    await fundWallets(rpcUrl, wallets, !resetsChain)
    const pool = createPool(database.url, { max: 4, role: 'hub_app', pooled: database.pooled })
    stops.push(() => pool.end())
    const networks = await startNetworks(options, wallets, stops)
    const money = createMoney(wallets, { rpcUrl, networks }, pool, options.log)
    const { magazine, ...ports } = await startSites(wallets, money, stops)
    const sandbox = describeSandbox({ logins, rpcUrl, networks, ...ports }, wallets, money)
    const { replaced: replacedChain } = chain
    const isPrepared = !replacedChain && (await sellsPages(pool, wallets))
    return { ...sandbox, database, magazine, replacedChain, isPrepared, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * Starts the sample seller and the sample site.
 * @param stops gets what stops them
 */
async function startSites(
  { seller: { account } }: Wallets,
  { facilitator }: Money,
  stops: (() => Promise<void>)[],
) {
  const { network } = USDC_BASE
  const seller = await startSeller({ facilitator, payTo: account.address, network })
  stops.push(() => seller.stop())
  const magazine = await startMagazine()
  stops.push(() => magazine.stop())
  const sellerPort = Number(new URL(seller.url).port)
  return { magazine, sellerPort, magazinePort: magazine.port }
}

/** Joins a sandbox that another process of this data directory has started. */
export async function joinSandbox(
  dataDir: string,
  place: SandboxPlace,
  log: Log,
): Promise<Sandbox> {
  const wallets = await openWallets(dataDir)
  const database = await openLogins(place.logins, (text) => log.info(text))
  const pool = createPool(database.url, { max: 4, role: 'hub_app', pooled: database.pooled })
  const money = createMoney(wallets, place, pool, log)
  const sandbox = describeSandbox(place, wallets, money)
  return { ...sandbox, database, isPrepared: true, stop: () => pool.end() }
}

/** Returns true if the sample pages are for sale: the last step of the preparation. */
async function sellsPages(pool: Pool, { seller }: Wallets): Promise<boolean> {
  const { rowCount } = await pool.query(
    `SELECT FROM hub.domain d JOIN hub.principal p ON p.id = d.owner
     WHERE d.host = $1 AND d.state = 'verified' AND p.wallet_address = $2`,
    [MAGAZINE_HOST, seller.account.address.toLowerCase()],
  )
  return rowCount === 1
}

const describeSandbox = (place: SandboxPlace, wallets: Wallets, money: Money) => ({
  ...place,
  money,
  wallets,
  spendOpening: SPEND_MICROS,
  sellerUrl: `http://${SELLER_HOST}`,
  pageUrl: `http://${MAGAZINE_HOST}/articles/tides`,
  hosts: new Map([
    [SELLER_HOST, place.sellerPort],
    [MAGAZINE_HOST, place.magazinePort],
  ]),
})

function createMoney(
  wallets: Wallets,
  { rpcUrl, networks }: Pick<SandboxPlace, 'rpcUrl' | 'networks'>,
  pool: Pool,
  log: Log,
): Money {
  const { network } = USDC_BASE
  const { key } = wallets.gas
  const facilitator = localFacilitator({ rpcUrl, key, network, pool, pollMs: 50 })
  return {
    chain: openChain({ rpcUrl, network }),
    chainLogs: openChainLogs(rpcUrl),
    facilitator,
    gas: facilitator.gas,
    treasury: wallets.treasury.account.address,
    spend: wallets.spend.account,
    others: [wallets.gas.account.address],
    faucet: (address, usdc) => fund(rpcUrl, address, { usdc }),
    finality: SANDBOX_FINALITY,
    networks: networks.map((place) => openSandboxNetwork(place, wallets, pool, log)),
  }
}

/** Funds the gas, spend (if wanted) and agent wallets with test money, if they are empty. */
async function fundWallets(
  rpcUrl: string,
  { gas, spend, agent }: Wallets,
  fundsSpend: boolean,
): Promise<void> {
  const chain = openChain({ rpcUrl, network: USDC_BASE.network })
  const newest = [gas.account.address, 'latest']
  if (BigInt(String(await callRpc(rpcUrl, 'eth_getBalance', newest))) === 0n) {
    await fund(rpcUrl, gas.account.address, { wei: GAS_WEI })
  }
  if (fundsSpend && (await chain.balanceOf(spend.account.address)) === 0n) {
    await fund(rpcUrl, spend.account.address, { usdc: SPEND_MICROS })
  }
  if ((await chain.balanceOf(agent.account.address)) === 0n) {
    await fund(rpcUrl, agent.account.address, { usdc: AGENT_MICROS })
  }
}
