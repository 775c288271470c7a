import type { RequestListener } from 'node:http'
import type { Pool } from 'pg'
import { injectedDomains } from '../../core/catalog/domains/injection.ts'
import { PagePreviews } from '../../core/catalog/domains/previews.ts'
import { SiteLicenses } from '../../core/catalog/domains/site-licenses.ts'
import type { DiscoveryDeps } from '../../core/catalog/listings/discovery/discover.ts'
import { purchaseCautions } from '../../core/catalog/listings/purchase-cautions.ts'
import type { EmbedDeps } from '../../core/catalog/search/semantic/embed-documents.ts'
import { openAiEmbedder } from '../../core/catalog/search/semantic/embedder.ts'
import {
  SemanticRanker,
  type SemanticRankerDeps,
} from '../../core/catalog/search/semantic/semantic-ranker.ts'
import type { Clock } from '../../core/clock.ts'
import type { ProcessLease } from '../../core/db/process-lease.ts'
import type { RecentReads } from '../../core/db/recent-reads.ts'
import { createBackends } from '../../core/egress/backends.ts'
import type { Egress } from '../../core/egress/http.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import { outagesOf } from '../../core/outages.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import { type ResolveDeps, recordResolved } from '../../core/payments/operations/resolve.ts'
import { createBuyer } from '../../core/payments/paying/buyer.ts'
import { Intents } from '../../core/payments/paying/intents.ts'
import { ListedTermsStore } from '../../core/payments/paying/listed-terms.ts'
import { Claims } from '../../core/payments/receiving/claims.ts'
import { Deposits } from '../../core/payments/receiving/deposits.ts'
import { MppChallenges } from '../../core/payments/receiving/mpp-challenges.ts'
import { OfferSigner } from '../../core/payments/receiving/offer-signer.ts'
import { createOffers, type Offers } from '../../core/payments/receiving/offers.ts'
import type { Host } from '../../core/plugin/index.ts'
import { cachedFor } from '../../core/runtime/cache.ts'
import { PendingTasks } from '../../core/runtime/pending-tasks.ts'
import { SecretKeys } from '../../core/secret-keys/secret-keys.ts'
import { CallLog } from '../../core/usage/calls.ts'
import { openWindows } from '../../core/usage/open-windows.ts'
import { publishSigningKey } from '../../core/usage/receipts.ts'
import { ConnectionGuard } from '../http/connection-guard.ts'
import { Meters } from '../observability/meters.ts'
import { PROXY_PATH } from '../proxy/entry.ts'
import { openCredentialGates } from './credential-gates.ts'
import { openEntryPoints } from './entry-points.ts'
import { openPluginCatalog, type PluginCatalog } from './open-catalog.ts'
import { openDatabases } from './open-databases.ts'
import { openDiscovery } from './open-discovery.ts'
import { openEgress } from './open-egress.ts'
import type { HubOptions } from './options.ts'
import { openUpstreams } from './upstreams.ts'

export interface Hub extends PluginCatalog {
  readonly pool: Pool
  /** Connections of pages and REST. */
  readonly pagePool: Pool
  readonly recentReads: RecentReads
  /** Connections of the finance functions, which post entries inside their transactions. */
  readonly financePool: Pool
  readonly ledger: Ledger
  /** Dependencies of jobs that resolve payments. */
  readonly paymentDeps: ResolveDeps
  readonly secretKeys: SecretKeys
  readonly discovery: DiscoveryDeps
  /** Guarded egress to foreign hosts. */
  readonly egress: Egress
  /** Embeds documents for semantic search, if configured. */
  readonly embedding: EmbedDeps | undefined
  readonly handler: RequestListener
  /** Lease of this process on its attempts and payments. */
  readonly lease: ProcessLease
  /** Resolves when all requests are done, including those of disconnected callers. */
  idle(): Promise<void>
  /** Flushes pending writes and closes all connections. */
  close(): Promise<void>
}

/** Opens the secret keys, and publishes the key that signs receipts. */
async function openSecretKeys(
  { signingKeys: masters, log }: HubOptions,
  pool: Pool,
  scope: AsyncDisposableStack,
): Promise<SecretKeys> {
  const keys = await SecretKeys.open(pool, { masters, log })
  scope.defer(() => keys.close())
  await publishSigningKey(pool, keys.signingKey())
  return keys
}

/** Creates the capabilities injected into every plugin. */
const createPluginHost = (
  options: Pick<HubOptions, 'secret' | 'sandbox' | 'log'>,
  clock: Clock,
): Omit<Host, 'http' | 'backends' | 'browser'> => ({
  secret: options.secret,
  log: (message, fields) => options.log.info({ ...fields }, message),
  clock,
  sandbox: options.sandbox,
})

/** Creates the buyer that pays sellers from the spend wallet, within the caps. */
const openBuyer = (
  { money, outflow, unresolved }: HubOptions,
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
    caps: { ...outflow, ...unresolved },
    outgoing: new OutgoingSwitch(pool),
    listedTerms: new ListedTermsStore(pool),
    approvePermit2: approvalOf(money),
    cautionsOf: (listing, request) => purchaseCautions(pool, ports.clock, listing, request),
  })

const APPROVAL_MS = 86_400_000

/** Approves Permit2 for the spend wallet; once approved, it is checked again after a day. */
const approvalOf = ({ facilitator: { approvePermit2 }, spend }: HubOptions['money']) =>
  approvePermit2 && cachedFor(APPROVAL_MS, () => approvePermit2(spend).then(() => true))

/** Opens semantic search. The operator's embedding server may be at any address. */
function openSemanticSearch(
  { embeddings, log }: HubOptions,
  { pool, clock }: Pick<SemanticRankerDeps, 'pool' | 'clock'>,
  userAgent: string,
) {
  if (!embeddings) return undefined
  const route = createBackends({ origins: [new URL(embeddings.url).origin], userAgent })
  const embedder = openAiEmbedder(embeddings, route)
  const ranker = new SemanticRanker({ pool, embedder, clock, log })
  return { pool, embedder, ranker, close: () => route.close() }
}

function openObservers(options: HubOptions, meters: Meters) {
  const { connections, log, mergeMetrics, proxies, telemetry } = options
  telemetry?.exportMetrics(meters)
  meters.watchOutages(outagesOf(log))
  const limits = { budgetBytes: connections.memoryBytes }
  const guard = new ConnectionGuard(log, limits, (reason) => meters.recordCut(reason))
  const metricsText = mergeMetrics?.(meters) ?? (() => meters.text())
  return { log, meters, metricsText, spans: telemetry?.spans, proxies, connections: guard }
}

/** Opens a hub on a migrated database: opens the catalog and creates the entry points. */
export async function openHub(options: HubOptions): Promise<Hub> {
  await using scope = new AsyncDisposableStack()
  const hub = await openParts(options, scope)
  const opened = scope.move()
  return { ...hub, close: () => opened.disposeAsync() }
}

/** Creates the offers of the hub, which its signing key signs. */
function openOffers({ money, baseUrl }: HubOptions, clock: Clock, secretKeys: SecretKeys): Offers {
  const { treasury: payTo } = money
  const signer = new OfferSigner(() => secretKeys.signingKey(), baseUrl)
  const challenges = new MppChallenges(secretKeys.of('sign-in-challenges'), baseUrl, clock)
  return createOffers({ ...money, payTo, network: USDC_BASE.network, clock, signer, challenges })
}

/** @param scope releases what was opened, in reverse order */
async function openParts(
  options: HubOptions,
  scope: AsyncDisposableStack,
): Promise<Omit<Hub, 'close'>> {
  const { money, log, draining = () => false } = options
  const meters = new Meters(options.version)
  const { databaseClock, ...database } = await openDatabases(options, meters, scope)
  const { pool, lease, ledger } = database
  const clock = options.clock ?? databaseClock
  const secretKeys = await openSecretKeys(options, pool, scope)
  const gates = openCredentialGates(pool, options)
  scope.defer(() => gates.close())
  const windows = await openWindows(options.rateStore, pool, log)
  scope.defer(() => windows.close())
  const outgoing = openEgress(options, { secretKeys, clock, scope })
  const { userAgent, requestSigner, egress, backends, browser } = outgoing
  const discovery = openDiscovery({ ...options, clock }, pool, egress)
  const payments = { claims: new Claims(pool, clock, lease), intents: new Intents(pool) }
  const core = { ...database, ...payments, deposits: new Deposits(database.financePool, ledger) }
  const paymentDeps: ResolveDeps = { ...core, ...money, clock, log, asset: USDC_BASE }
  const host = { ...createPluginHost(options, clock), http: egress, backends, browser }
  const previews = new PagePreviews(pool, discovery.robots)
  const privileges = {
    buyer: openBuyer(options, paymentDeps, egress, pool),
    domains: injectedDomains(
      pool,
      discovery.robots,
      new SiteLicenses(egress, discovery.robots),
      previews,
      (slug) => `${options.baseUrl()}${PROXY_PATH}/${slug}`,
    ),
    upstreams: openUpstreams({ ...options, secretKeys }, { pool, ...outgoing.toUpstreams }),
  }
  const sealed = { ...core, secretKeys, scope }
  const pluginCatalog = await openPluginCatalog(options, sealed, host, privileges)
  const { catalog, services: plugins } = pluginCatalog
  const offers = openOffers(options, clock, secretKeys)
  const calls = new CallLog(pool, log, (ids) => recordResolved(paymentDeps, ids))
  scope.defer(() => calls.flush())
  const semanticSearch = openSemanticSearch(options, { pool, clock }, userAgent)
  scope.defer(() => semanticSearch?.close())
  const observers = { ...openObservers(options, meters), draining }
  const pendingTasks = new PendingTasks()
  const found = { discovery, previews, semanticRanker: semanticSearch?.ranker, catalog, plugins }
  const services = { gates, secretKeys, requestSigner, windows, offers, calls, clock, pendingTasks }
  const parts = { ...core, ...observers, ...found, ...services, egress, backends }
  const handle = openEntryPoints(parts, options)
  return {
    ...database,
    egress,
    embedding: semanticSearch,
    paymentDeps,
    secretKeys,
    discovery,
    ...pluginCatalog,
    handler: (request, response) => void pendingTasks.add(handle(request, response)),
    idle: () => pendingTasks.idle(),
  }
}
