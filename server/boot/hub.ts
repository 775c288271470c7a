import type { RequestListener } from 'node:http'
import type { Pool } from 'pg'
import type { LocalAccount } from 'viem'
import { Renderer } from '../../core/browser/open.ts'
import { domainsOn } from '../../core/catalog/domains/lending.ts'
import type { ChainLogs } from '../../core/catalog/listings/discovery/chain-logs.ts'
import type { Discovering } from '../../core/catalog/listings/discovery/discover.ts'
import type { DiscoverySettings } from '../../core/catalog/listings/discovery/settings.ts'
import type { EmbedPorts } from '../../core/catalog/search/meaning/embed-documents.ts'
import { openAiEmbedder } from '../../core/catalog/search/meaning/embedder.ts'
import { Meaning, type MeaningPorts } from '../../core/catalog/search/meaning/meaning.ts'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import type { SigningKey } from '../../core/crypto/signing-key.ts'
import { openDatabaseClock } from '../../core/db/clock.ts'
import { migrate } from '../../core/db/migrate.ts'
import { createPool } from '../../core/db/pool.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { createEgress, type Egress, type EgressOptions } from '../../core/egress/http.ts'
import { openShards } from '../../core/identity/shards.ts'
import type { ContractWallets } from '../../core/identity/wallet-signature.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import type { Log } from '../../core/log.ts'
import type { Micros } from '../../core/money.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Chain } from '../../core/payments/chain/chain.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import type { GasWallet } from '../../core/payments/facilitators/gas-wallet.ts'
import type { ResolvePorts } from '../../core/payments/operations/resolve.ts'
import { OutgoingSwitch } from '../../core/payments/operations/switch.ts'
import { createBuyer } from '../../core/payments/paying/buyer.ts'
import { Intents } from '../../core/payments/paying/intents.ts'
import { Pins } from '../../core/payments/paying/listed-terms.ts'
import { Claims } from '../../core/payments/receiving/claims.ts'
import { createOffers } from '../../core/payments/receiving/offers.ts'
import type { AnyService, Family, Host, Plugin } from '../../core/plugin/index.ts'
import { UnderWay } from '../../core/runtime/pending-tasks.ts'
import { CallLog } from '../../core/usage/calls.ts'
import { openWindows, type RateStore } from '../../core/usage/open-windows.ts'
import { publishKey } from '../../core/usage/receipts.ts'
import { Meters } from '../observability/meters.ts'
import type { Spans } from '../observability/telemetry.ts'
import { openGoods } from './catalog.ts'
import { openFinding } from './discovery.ts'
import { openDoors } from './entry-points.ts'
import { openUpstreams } from './upstreams.ts'

/** Chain, facilitator and wallets: what a sandbox makes for itself and production configures. */
export interface Money {
  readonly chain: Chain
  /** Undefined: nothing is learnt from events of other contracts. */
  readonly chainLogs?: ChainLogs
  readonly facilitator: Facilitator
  /** What the facilitator pays for gas with, if it is our own. */
  readonly gas?: GasWallet
  readonly treasury: Hex
  /** Pays external sellers. */
  readonly spend: LocalAccount
  /** Further addresses of the house, which must never be paid. */
  readonly others: readonly Hex[]
  /** Gives test USDC away, in microdollars; where money is real there is none. */
  readonly faucet?: (address: Hex, amount: bigint) => Promise<void>
  /** Blocks on top of a transfer before it is final. */
  readonly finality: bigint
}

export interface HubOptions {
  readonly databaseUrl: string
  /** Past a pooler, for what needs a session; undefined: `databaseUrl` is direct itself. */
  readonly databaseDirectUrl?: string | undefined
  readonly money: Money
  readonly plugins: readonly Plugin[]
  /** Plugins that are lent the wallet that pays sellers. */
  readonly privileged: readonly Plugin[]
  readonly version: string
  readonly sandbox: boolean
  /** Wallets of administrators, in lower case. */
  readonly admins: readonly string[]
  /** Who shows it may read `/metrics`; undefined: this machine may. */
  readonly metricsToken: string | undefined
  readonly commissionBps: number
  readonly listing: Config['listing']
  /** Undefined: a wallet that is a contract cannot sign here. */
  readonly contracts?: ContractWallets | undefined
  readonly mail: Config['mail']
  readonly outflow: Config['outflow']
  readonly adjustAlone: Micros
  readonly payouts: Config['payouts']
  readonly minX402: Micros
  readonly rateStore: RateStore
  readonly proxies: number
  /** Shards of the ledger, if this is a new installation. */
  readonly shards: number
  /** Seconds that a hold outlives its call's deadline, so that only after a crash it expires. */
  readonly holdMarginSeconds: number
  /** What callers see; asked when it is needed, since a port may be chosen late. */
  readonly baseUrl: () => string
  /** The same of the endpoint of MCP, where it has an origin of its own. */
  readonly mcpUrl: string | undefined
  /** Origins of pages that may use it, beside our own. */
  readonly mcpOrigins: readonly string[]
  /** Whether the process is about to stop. */
  readonly draining?: () => boolean
  readonly spans?: Spans | undefined
  /** One text of what all processes that serve have counted. @defaultValue our own */
  readonly together?: (meters: Meters) => () => Promise<string>
  readonly egress: Pick<EgressOptions, 'sandboxHosts' | 'allowedPorts' | 'httpsOnly'>
  /** Origins that plugins may ask wherever they are. */
  readonly pluginHosts: readonly string[]
  readonly browser: Config['browser']
  /** What the operator added, and how it runs. */
  readonly hosting: Config['hosting']
  /** Where listings of others are looked for. */
  readonly discovery: DiscoverySettings
  readonly embeddings: Config['embeddings']
  readonly signingKey: SigningKey
  readonly secret: (name: string) => string | undefined
  /** @defaultValue that of the database */
  readonly clock?: Clock | undefined
  readonly log: Log
}

export interface Hub {
  readonly pool: Pool
  readonly ledger: Ledger
  /** What jobs need to learn the outcome of payments. */
  readonly ports: ResolvePorts
  /** Finds sellers outside, and probes them. */
  readonly discovery: Discovering
  /** What is sold, with the schedules that come with it. */
  readonly services: readonly AnyService[]
  readonly families: readonly Family[]
  readonly catalog: Catalog
  /** Tells of services that come, or change, while the hub runs. */
  readonly onSold: (listener: (service: AnyService) => void) => void
  /** The guarded way to foreign hosts. */
  readonly egress: Egress
  /** What reads documents for searches by meaning, if anything does. */
  readonly embedding: EmbedPorts | undefined
  /** Answers HTTP requests. */
  readonly handler: RequestListener
  /** Until every request is answered, also those whose callers have left. */
  idle(): Promise<void>
  /** Writes what is still to be written and closes every connection. */
  close(): Promise<void>
}

/** Nothing that a caller waits for takes the database so long, unless it cannot be reached. */
const ANSWER_MS = 20_000

async function openStores(options: HubOptions, meters: Meters) {
  const { databaseUrl, databaseDirectUrl, log } = options
  await migrate(databaseDirectUrl ?? databaseUrl, { log: (text) => log.info(text) })
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection broke')
  const pooled = databaseDirectUrl !== undefined
  const shared = { role: 'hub_app', answerMs: ANSWER_MS, pooled, onError }
  const pool = createPool(databaseUrl, { max: 20, ...shared })
  const books = createPool(databaseUrl, { max: 8, ...shared })
  meters.watch({ hub: pool, ledger: books })
  await pool.query('SELECT ledger.ensure_partitions()')
  const shards = await openShards(pool, options.shards)
  const ledger = new Ledger(books, { shards, onBatch: (operations) => meters.batch(operations) })
  return { pool, books, ledger, ticking: await openDatabaseClock(pool) }
}

/** What every plugin is lent. */
const hostOf = (
  options: Pick<HubOptions, 'secret' | 'sandbox' | 'log'>,
  clock: Clock,
): Omit<Host, 'http' | 'backends' | 'browser'> => ({
  secret: options.secret,
  log: (message, fields) => options.log.info({ ...fields }, message),
  clock,
  sandbox: options.sandbox,
})

/** Buys with the wallet that pays sellers, within the caps. */
const openBuyer = (
  { money, outflow }: HubOptions,
  ports: ResolvePorts,
  egress: Egress,
  pool: Pool,
): NonNullable<Host['buyer']> =>
  createBuyer({
    ...ports,
    egress,
    account: money.spend,
    ownWallets: [money.treasury, money.spend.address, ...money.others],
    maxAmount: outflow.call,
    caps: outflow,
    outgoing: new OutgoingSwitch(pool),
    pins: new Pins(pool),
  })

/** A browser says what it is, and for whom it reads. */
const openBrowser = ({ browser, egress, log }: HubOptions, hub: string): Renderer =>
  new Renderer({
    ...browser,
    ...egress,
    userAgent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (compatible; ${hub})`,
    log: (message, fields) => log.warn({ ...fields }, message),
  })

/** The engine of embeddings is the operator's own choice, wherever it is. */
function openEmbedding(
  { embeddings, log }: HubOptions,
  { pool, clock }: Pick<MeaningPorts, 'pool' | 'clock'>,
  userAgent: string,
) {
  if (!embeddings) return undefined
  const way = createBackends({ origins: [new URL(embeddings.url).origin], userAgent })
  const embedder = openAiEmbedder(embeddings, way)
  const meaning = new Meaning({ pool, embedder, clock, log })
  return { pool, embedder, meaning, close: () => way.close() }
}

/** Builds a hub on a database: migrates it, opens the catalogue and joins doors to core. */
export async function openHub(options: HubOptions): Promise<Hub> {
  const { money, log, draining = () => false } = options
  const meters = new Meters()
  const { pool, books, ledger, ticking } = await openStores(options, meters)
  const clock = options.clock ?? ticking
  await publishKey(pool, options.signingKey)
  const windows = await openWindows(options.rateStore, pool, log)
  const userAgent = `AgentHub/${options.version}`
  const egress = createEgress({ ...options.egress, userAgent })
  const backends = createBackends({ origins: options.pluginHosts, userAgent })
  const discovery = openFinding({ ...options, clock }, pool, egress)
  const core = { pool, ledger, claims: new Claims(pool, clock), intents: new Intents(pool) }
  const ports: ResolvePorts = { ...core, ...money, clock, log, asset: USDC_BASE }
  const browser = openBrowser(options, userAgent)
  const lent = { ...hostOf(options, clock), http: egress, backends, browser }
  const privileges = {
    buyer: openBuyer(options, ports, egress, pool),
    domains: domainsOn(pool, discovery.robots),
    upstreams: openUpstreams(options, { pool, http: egress, backends }),
  }
  const goods = await openGoods(options, core, lent, privileges)
  const offers = createOffers({
    ...money,
    payTo: money.treasury,
    network: USDC_BASE.network,
    clock,
  })
  const calls = new CallLog(pool, log)
  const finding = openEmbedding(options, { pool, clock }, userAgent)
  const counted = options.together?.(meters) ?? (() => meters.text())
  const observers = { log, meters, counted, spans: options.spans, draining }
  const underWay = new UnderWay()
  const found = { discovery, meaning: finding?.meaning, catalog: goods.sold.catalog }
  const own = { windows, offers, calls, clock, underWay, egress, backends }
  const answer = openDoors({ ...core, ...observers, ...found, ...own }, options)
  return {
    pool,
    ledger,
    egress,
    embedding: finding,
    ports,
    discovery,
    ...goods.sold,
    handler: (request, response) => void underWay.add(answer(request, response)),
    idle: () => underWay.idle(),
    async close() {
      ticking.close()
      await calls.flush()
      await goods.close()
      await Promise.all([egress.close(), backends.close(), browser.close(), finding?.close()])
      await windows.close()
      await Promise.all([pool.end(), books.end()])
    },
  }
}
