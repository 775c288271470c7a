import type { RequestListener } from 'node:http'
import type { Pool } from 'pg'
import { Renderer } from '../../core/browser/renderer.ts'
import { injectedDomains } from '../../core/catalog/domains/injection.ts'
import type { DiscoveryDeps } from '../../core/catalog/listings/discovery/discover.ts'
import type { EmbedDeps } from '../../core/catalog/search/semantic/embed-documents.ts'
import { openAiEmbedder } from '../../core/catalog/search/semantic/embedder.ts'
import {
  SemanticRanker,
  type SemanticRankerDeps,
} from '../../core/catalog/search/semantic/semantic-ranker.ts'
import type { Clock } from '../../core/clock.ts'
import { openDatabaseClock } from '../../core/db/clock.ts'
import { migrate } from '../../core/db/migrate.ts'
import { createPool } from '../../core/db/pool.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { createEgress } from '../../core/egress/egress.ts'
import type { Egress } from '../../core/egress/http.ts'
import { openShards } from '../../core/identity/shards.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import type { ResolveDeps } from '../../core/payments/operations/resolve.ts'
import { createBuyer } from '../../core/payments/paying/buyer.ts'
import { Intents } from '../../core/payments/paying/intents.ts'
import { ListedTermsStore } from '../../core/payments/paying/listed-terms.ts'
import { Claims } from '../../core/payments/receiving/claims.ts'
import { createOffers } from '../../core/payments/receiving/offers.ts'
import type { Host } from '../../core/plugin/index.ts'
import { PendingTasks } from '../../core/runtime/pending-tasks.ts'
import { CallLog } from '../../core/usage/calls.ts'
import { openWindows } from '../../core/usage/open-windows.ts'
import { publishSigningKey } from '../../core/usage/receipts.ts'
import { Meters } from '../observability/meters.ts'
import { openGoods, type PluginCatalog } from './catalog.ts'
import { openFinding } from './discovery.ts'
import { openEntryPoints } from './entry-points.ts'
import type { HubOptions } from './options.ts'
import { openUpstreams } from './upstreams.ts'

export interface Hub extends PluginCatalog {
  readonly pool: Pool
  readonly ledger: Ledger
  /** What jobs need to learn the outcome of payments. */
  readonly ports: ResolveDeps
  /** Finds sellers outside, and probes them. */
  readonly discovery: DiscoveryDeps
  /** The guarded way to foreign hosts. */
  readonly egress: Egress
  /** What reads documents for searches by meaning, if anything does. */
  readonly embedding: EmbedDeps | undefined
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
  meters.watchPools({ hub: pool, ledger: books })
  await pool.query('SELECT ledger.ensure_partitions()')
  const shards = await openShards(pool, options.shards)
  const ledger = new Ledger(books, {
    shards,
    onBatch: (operations) => meters.recordBatch(operations),
  })
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
  ports: ResolveDeps,
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
    listedTerms: new ListedTermsStore(pool),
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
  { pool, clock }: Pick<SemanticRankerDeps, 'pool' | 'clock'>,
  userAgent: string,
) {
  if (!embeddings) return undefined
  const way = createBackends({ origins: [new URL(embeddings.url).origin], userAgent })
  const embedder = openAiEmbedder(embeddings, way)
  const meaning = new SemanticRanker({ pool, embedder, clock, log })
  return { pool, embedder, meaning, close: () => way.close() }
}

/** Builds a hub on a database: migrates it, opens the catalogue and joins doors to core. */
export async function openHub(options: HubOptions): Promise<Hub> {
  const { money, log, draining = () => false } = options
  const meters = new Meters()
  const { pool, books, ledger, ticking } = await openStores(options, meters)
  const clock = options.clock ?? ticking
  await publishSigningKey(pool, options.signingKey)
  const windows = await openWindows(options.rateStore, pool, log)
  const userAgent = `AgentHub/${options.version}`
  const egress = createEgress({ ...options.egress, userAgent })
  const backends = createBackends({ origins: options.pluginHosts, userAgent })
  const discovery = openFinding({ ...options, clock }, pool, egress)
  const core = { pool, ledger, claims: new Claims(pool, clock), intents: new Intents(pool) }
  const ports: ResolveDeps = { ...core, ...money, clock, log, asset: USDC_BASE }
  const browser = openBrowser(options, userAgent)
  const lent = { ...hostOf(options, clock), http: egress, backends, browser }
  const privileges = {
    buyer: openBuyer(options, ports, egress, pool),
    domains: injectedDomains(pool, discovery.robots),
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
  const pendingTasks = new PendingTasks()
  const found = { discovery, meaning: finding?.meaning, catalog: goods.sold.catalog }
  const own = { windows, offers, calls, clock, pendingTasks, egress, backends }
  const answer = openEntryPoints({ ...core, ...observers, ...found, ...own }, options)
  return {
    pool,
    ledger,
    egress,
    embedding: finding,
    ports,
    discovery,
    ...goods.sold,
    handler: (request, response) => void pendingTasks.add(answer(request, response)),
    idle: () => pendingTasks.idle(),
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
