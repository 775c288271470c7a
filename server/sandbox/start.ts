import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { openChainLogs } from '../../core/catalog/listings/discovery/chain-logs.ts'
import { openDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import type { SandboxHosts } from '../../core/egress/sandbox.ts'
import type { Log } from '../../core/log.ts'
import { type Micros, micros } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import type { Money } from '../boot/options.ts'
import { startChain } from './chain.ts'
import { type Magazine, startMagazine } from './magazine.ts'
import { callRpc } from './rpc.ts'
import { startSeller } from './seller.ts'
import { fund, openWallets, type Wallets } from './wallets.ts'

/** The name under which the hub's guard lets calls through to the sample seller. */
const SELLER_HOST = 'seller.test'
/** The site whose pages are sold from the beginning. */
export const MAGAZINE_HOST = 'magazine.test'

/** Where a sandbox is: what another process needs to be in it too. */
export interface SandboxPlace {
  readonly databaseUrl: string
  readonly rpcUrl: string
  /** On 127.0.0.1, as the next one. */
  readonly sellerPort: number
  readonly magazinePort: number
}

/** Everything that a hub needs around it, made of test money on this machine. */
export interface Sandbox extends SandboxPlace {
  readonly money: Money
  readonly wallets: Wallets
  /** Where the sample seller is, as `POST /external` takes it. */
  readonly sellerUrl: string
  /** A page that is sold. */
  readonly pageUrl: string
  readonly hosts: SandboxHosts
  /** Undefined where another process has started it. */
  readonly magazine?: Magazine
  /** What the spend wallet was given at first, in microdollars. */
  readonly spendOpening: Micros
  stop(): Promise<void>
}

/** The local chain forgets nothing, unless a test wants it to. */
export const SANDBOX_FINALITY = 1n
const ETH = 10n ** 18n
const GAS_WEI = 10n * ETH
const SPEND_MICROS = micros(50_000_000)
const AGENT_MICROS = 100_000_000n

/** Starts database (unless one is given), chain, wallets with test money, and sample sites. */
export async function startSandbox(options: {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly log: Log
}): Promise<Sandbox> {
  const { dataDir } = options
  const log = (text: string): void => options.log.info(text)
  const warn = (text: string): void => options.log.warn(text)
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const opening = [
      openDatabase(options.databaseUrl ? { url: options.databaseUrl } : { dataDir, log, warn }),
      startChain({ dataDir: join(dataDir, 'chain'), port: 0, log }),
      openWallets(dataDir),
    ] as const
    const [opened, started] = await Promise.allSettled(opening) // what fails leaves none behind
    if (opened.status === 'fulfilled') stops.push(() => opened.value.close())
    if (started.status === 'fulfilled') stops.push(() => started.value.stop())
    const [database, chain, wallets] = await Promise.all(opening)
    await endow(chain.rpcUrl, wallets)
    const { rpcUrl } = chain
    const pool = createPool(database.url, { max: 4, role: 'hub_app' }) // used after the migration
    stops.push(() => pool.end())
    const money = moneyOf(wallets, rpcUrl, pool)
    const seller = await startSeller({
      facilitator: money.facilitator,
      payTo: wallets.seller.account.address,
      network: USDC_BASE.network,
    })
    stops.push(() => seller.stop())
    const magazine = await startMagazine()
    stops.push(() => magazine.stop())
    const place = {
      databaseUrl: database.url,
      rpcUrl,
      sellerPort: Number(new URL(seller.url).port),
      magazinePort: magazine.port,
    }
    return { ...sandboxAt(place, wallets, money), magazine, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Enters a sandbox that another process of this data directory has started. */
export async function joinSandbox(dataDir: string, place: SandboxPlace): Promise<Sandbox> {
  const wallets = await openWallets(dataDir)
  const pool = createPool(place.databaseUrl, { max: 4, role: 'hub_app' })
  const stop = () => pool.end()
  return { ...sandboxAt(place, wallets, moneyOf(wallets, place.rpcUrl, pool)), stop }
}

const sandboxAt = (place: SandboxPlace, wallets: Wallets, money: Money) => ({
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

function moneyOf(wallets: Wallets, rpcUrl: string, pool: Pool): Money {
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
  }
}

/** Test money for those who need some: gas, what sellers are paid with, and an agent's own. */
async function endow(rpcUrl: string, { gas, spend, agent }: Wallets): Promise<void> {
  const chain = openChain({ rpcUrl, network: USDC_BASE.network })
  const newest = [gas.account.address, 'latest']
  if (BigInt(String(await callRpc(rpcUrl, 'eth_getBalance', newest))) === 0n) {
    await fund(rpcUrl, gas.account.address, { wei: GAS_WEI })
  }
  if ((await chain.balanceOf(spend.account.address)) === 0n) {
    await fund(rpcUrl, spend.account.address, { usdc: SPEND_MICROS })
  }
  if ((await chain.balanceOf(agent.account.address)) === 0n) {
    await fund(rpcUrl, agent.account.address, { usdc: AGENT_MICROS })
  }
}
