import type { Pool } from 'pg'
import type { LocalAccount } from 'viem'
import type { RequestSigner } from '../../core/agents/request-signer.ts'
import type { PagePreviews } from '../../core/catalog/domains/previews.ts'
import type { ChainLogs } from '../../core/catalog/listings/discovery/chain-logs.ts'
import type { DiscoveryDeps } from '../../core/catalog/listings/discovery/discover.ts'
import type { DiscoverySettings } from '../../core/catalog/listings/discovery/settings.ts'
import type { SemanticRanker } from '../../core/catalog/search/semantic/semantic-ranker.ts'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import type { SigningKey } from '../../core/crypto/signing-key.ts'
import type { ProcessLease } from '../../core/db/process-lease.ts'
import type { RecentReads, ReplicaOptions } from '../../core/db/recent-reads.ts'
import type { EgressOptions } from '../../core/egress/egress.ts'
import type { Egress } from '../../core/egress/http.ts'
import type { CredentialGates } from '../../core/identity/credential-gate.ts'
import type { ContractVerifier } from '../../core/identity/wallet-signature.ts'
import type { Log } from '../../core/log.ts'
import type { Micros } from '../../core/money.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Chain } from '../../core/payments/chain/chain.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import type { GasWallet } from '../../core/payments/facilitators/gas-wallet.ts'
import type { PaymentNetwork } from '../../core/payments/networks.ts'
import type { ResolveDeps } from '../../core/payments/operations/resolve.ts'
import type { createOffers } from '../../core/payments/receiving/offers.ts'
import type { EnvironmentKeys } from '../../core/payments/wallets/environment-keys.ts'
import type { AnyService, Plugin } from '../../core/plugin/index.ts'
import type { PendingTasks } from '../../core/runtime/pending-tasks.ts'
import type { SecretKeys } from '../../core/secret-keys/secret-keys.ts'
import type { CallLog } from '../../core/usage/calls.ts'
import type { RateStore } from '../../core/usage/open-windows.ts'
import type { Windows } from '../../core/usage/windows.ts'
import type { Meters } from '../observability/meters.ts'
import type { Observers } from '../observability/observe.ts'
import type { Telemetry } from '../observability/telemetry.ts'

/**
 * Services that only credits can pay, because the price is an external seller's, who receives all
 * of it. They may park the price of a call whose outcome is unknown.
 */
export const CREDITS_ONLY: ReadonlySet<string> = new Set(['external'])

/** Core objects that the entry points are built on. */
export type Core = Omit<ResolveDeps, 'chain' | 'asset' | 'treasury' | 'finality'> &
  Observers & {
    readonly pool: Pool
    /** Connections of pages and REST. */
    readonly pagePool: Pool
    readonly recentReads: RecentReads
    readonly lease: ProcessLease
    /** Connections that may post entries, for finance. */
    readonly financePool: Pool
    readonly offers: ReturnType<typeof createOffers>
    readonly catalog: Catalog
    /** Services of plugins that were opened with the hub. */
    readonly plugins: readonly AnyService[]
    readonly calls: CallLog
    readonly pendingTasks: PendingTasks
    readonly windows: Windows
    readonly gates: CredentialGates
    readonly secretKeys: SecretKeys
    readonly requestSigner: RequestSigner
    /** Guarded egress, and the route to the operator's own hosts. */
    readonly egress: Egress
    readonly backends: Egress
    readonly discovery: DiscoveryDeps
    readonly previews: Pick<PagePreviews, 'preview'>
    /** Undefined without semantic search. */
    readonly semanticRanker?: SemanticRanker | undefined
    /** Prometheus metrics of all serving processes. */
    readonly metricsText: () => Promise<string>
  }

/** Chain, facilitator and wallets: created by a sandbox, configured in production. */
export interface Money {
  readonly chain: Chain
  /** Reads events of other contracts; undefined: discovery ignores them. */
  readonly chainLogs?: ChainLogs
  readonly facilitator: Facilitator
  /** Wallet that pays for gas, if the platform runs its own facilitator. */
  readonly gas?: GasWallet
  readonly treasury: Hex
  /** Pays external sellers. */
  readonly spend: LocalAccount
  /** Wallets whose key is in the environment; undefined: none, or test money. */
  readonly environmentKeys?: EnvironmentKeys
  /** Further platform addresses, which must never be paid. */
  readonly others: readonly Hex[]
  /** Sends test USDC, in microdollars; undefined with real money. */
  readonly faucet?: (address: Hex, amount: bigint) => Promise<void>
  /** Confirmations before a transfer is final. */
  readonly finality: bigint
  /** Further networks on which callers can pay. */
  readonly networks: readonly PaymentNetwork[]
}

export interface HubOptions {
  /** Login of requests; may be a pooler's. */
  readonly databaseUrl: string
  /** Bypasses a pooler, for work that needs a session; undefined: `databaseUrl` is direct. */
  readonly databaseDirectUrl?: string | undefined
  /** Login that may post entries. */
  readonly financeUrl: string
  /** Login of the owner, for the migrations of plugins; undefined: they are applied already. */
  readonly ownerUrl: string | undefined
  /** Server for reads that may be some seconds old; undefined: the primary. */
  readonly replica?: ReplicaOptions | undefined
  readonly money: Money
  readonly plugins: readonly Plugin[]
  /** Plugins into which the wallet that pays sellers is injected. */
  readonly privileged: readonly Plugin[]
  readonly version: string
  readonly sandbox: boolean
  /** Wallets of administrators, in lower case. */
  readonly admins: readonly string[]
  /** Folder of keys, retained checkpoints and, if embedded, the database. */
  readonly dataDir: string
  /** Token that grants access to `/metrics`; undefined: only this machine has access. */
  readonly metricsToken: string | undefined
  readonly commissionBps: number
  readonly listing: Config['listing']
  /** Verifies signatures of contract wallets; undefined: they are refused. */
  readonly contracts?: ContractVerifier | undefined
  readonly mail: Config['mail']
  readonly outflow: Config['outflow']
  readonly unresolved: Config['unresolved']
  readonly soloAdjustmentMax: Micros
  readonly roleWaitHours: number
  readonly roleReviewDays: number
  readonly retention: Config['retention']
  readonly documents: Config['documents']
  readonly payouts: Config['payouts']
  readonly staff: Config['staff']
  readonly minX402: Config['minX402']
  readonly gas: Config['gas']
  readonly prepaidAbove: Micros
  readonly rateStore: RateStore
  readonly connections: Config['connections']
  readonly proxies: number
  /** Number of ledger shards of a new installation. */
  readonly shards: number
  /** Seconds that a hold outlives its call's deadline, so that it expires only after a crash. */
  readonly holdMarginSeconds: number
  /** Public base URL. A function, because the port may be chosen late. */
  readonly baseUrl: () => string
  /** Public base URL of the MCP endpoint, if it has its own origin. */
  readonly mcpUrl: string | undefined
  /** Command that pages show; undefined: the package that the hub serves, by `npx`. */
  readonly cliCommand?: string | undefined
  /** URL for reports of vulnerabilities. */
  readonly securityContact?: string | undefined
  /** Further origins of pages that may use the MCP endpoint. */
  readonly mcpOrigins: readonly string[]
  /** True once the process is about to stop. */
  readonly draining?: () => boolean
  /** Undefined if no collector is configured. */
  readonly telemetry?: Telemetry | undefined
  /** Merges the metrics of all serving processes. @defaultValue metrics of this process */
  readonly mergeMetrics?: (meters: Meters) => () => Promise<string>
  readonly egress: Omit<EgressOptions, 'userAgent' | 'sign'>
  /** Origins that plugins may reach at any network address. */
  readonly pluginHosts: readonly string[]
  readonly browser: Config['browser']
  /** Plugins that the operator added, and their limits. */
  readonly hosting: Config['hosting']
  /** Sources of external listings. */
  readonly discovery: DiscoverySettings
  readonly embeddings: Config['embeddings']
  /** Keys that protect the stored secret keys, the current one first; see `SecretKeys`. */
  readonly signingKeys: readonly [SigningKey, ...SigningKey[]]
  readonly secret: (name: string) => string | undefined
  /** @defaultValue the database's clock */
  readonly clock?: Clock | undefined
  /** Monotonic time of caches, in milliseconds. @defaultValue elapsedMs */
  readonly cacheNow?: (() => number) | undefined
  readonly log: Log
}
