import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { RetentionDays } from './audit/retention-policy.ts'
import { type BrowserSettings, browserSettings } from './browser/settings.ts'
import { type DiscoverySettings, discoverySettings } from './catalog/listings/discovery/settings.ts'
import { type EmbedderSettings, embedderSettings } from './catalog/search/semantic/settings.ts'
import type { UpstreamSettings } from './catalog/upstreams/settings.ts'
import { type BackupSettings, backupSettings } from './config/backup.ts'
import { type CheckpointSettings, checkpointSettings } from './config/checkpoints.ts'
import { type DatabaseConfig, databaseOf } from './config/database.ts'
import { type DocumentSettings, documentSettings } from './config/documents.ts'
import { Environment, VARIABLE_NAMES } from './config/environment.ts'
import { findIgnoredPort, findMisspelledVariables } from './config/environment-typos.ts'
import { limitsOf } from './config/limits.ts'
import { networkSecrets } from './config/payment-networks.ts'
import type { PayoutConfig, StaffConfig } from './config/payouts.ts'
import { environment } from './config/process-environment.ts'
import { type ProductionChain, productionOf } from './config/production.ts'
import { rateStoreOf } from './config/rate-store.ts'
import { parseSandboxHosts, type SandboxHosts } from './egress/sandbox.ts'
import { type HostingConfig, hostingSettings } from './hosting/settings.ts'
import type { Micros } from './money.ts'
import type { Network } from './payments/chain/asset.ts'
import { ConfigError } from './runtime/config-error.ts'
import { issueMessage } from './runtime/issue-message.ts'
import type { RateStore } from './usage/open-windows.ts'

/** The only reader of the environment. All other code receives the frozen `Config`. */

export type { ProductionChain, RemoteFacilitator } from './config/production.ts'
export { ConfigError } from './runtime/config-error.ts'

export interface Config extends DatabaseConfig {
  readonly version: string
  readonly host: string
  readonly port: number
  /** True if the supervisor of this process passes the listening socket (`INHERITED_FD`). */
  readonly inheritsSocket: boolean
  readonly dataDir: string
  /** Public URL of the hub; undefined: the address that the server listens on. */
  readonly baseUrl: string | undefined
  /** Origin of MCP; undefined: the origin of the hub. */
  readonly mcpUrl: string | undefined
  /** Command that pages show; undefined: the package that the hub serves, by `npx`. */
  readonly cliCommand: string | undefined
  /** URL for reports of vulnerabilities. */
  readonly securityContact: string | undefined
  /** Allowed `Origin` headers of MCP clients. */
  readonly mcpOrigins: readonly string[]
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Wallets with the administrator role, in lower case. */
  readonly admins: readonly string[]
  /** Bearer token required for `/metrics`; undefined: loopback requests only. */
  readonly metricsToken: string | undefined
  readonly commissionBps: number
  /** Rules for APIs listed without code. */
  readonly listing: UpstreamSettings
  /** Destination ports allowed besides 80 and 443. */
  readonly egressPorts: readonly number[]
  /** Origins plugins may call even on private networks, such as a local model server. */
  readonly pluginHosts: readonly string[]
  /** Plugins added by the operator, and how they run. */
  readonly hosting: HostingConfig
  readonly connections: {
    /** Maximum number of open connections of one process. */
    readonly max: number
    /** Memory for unread responses and unfinished requests, per process. */
    readonly memoryBytes: number
  }
  /** Number of trusted reverse proxies; each adds an address to X-Forwarded-For. */
  readonly proxies: number
  /** Minimum price payable by x402; undefined: what covers the gas. */
  readonly minX402: Micros | undefined
  /** Maximum x402 price that a wallet without earlier payments may pay after the work. */
  readonly prepaidAbove: Micros
  /** Limits of payments to sellers: per call; per key, host and platform in a UTC day. */
  readonly outflow: {
    readonly call: Micros
    readonly key: Micros
    readonly host: Micros
    readonly platform: Micros
  }
  /** Limits of payments to sellers without a known outcome: of a principal, and to a seller. */
  readonly unresolved: {
    readonly principal: Micros
    readonly seller: Micros
  }
  readonly payouts: PayoutConfig
  /** Age in days at which unspent credits expire (undefined: never), and notice before that. */
  readonly credits: { readonly expireDays: number | undefined; readonly noticeDays: number }
  readonly staff: StaffConfig
  /** Total of one staff member's acts per UTC day without a second person. */
  readonly soloAdjustmentMax: Micros
  /** Hours before a granted role takes effect, unless a second administrator confirms it. */
  readonly roleWaitHours: number
  /** Days after which a role is due for review. */
  readonly roleReviewDays: number
  readonly retention: RetentionDays
  readonly gas: {
    /** USD price of one ETH; converts gas costs for the ledger. */
    readonly ethPrice: Micros
    readonly priceFeed: string | undefined
    /** Gas wallet balance that triggers an alert. */
    readonly lowGwei: bigint
  }
  readonly documents: DocumentSettings
  readonly checkpoints: CheckpointSettings
  readonly backup: BackupSettings
  /** True if the server also runs the jobs; false if `npm run jobs` runs them. */
  readonly jobs: boolean
  /** Number of processes serving the port. */
  readonly workers: number
  readonly rateStore: RateStore
  readonly drain: Drain
  /** OTLP/HTTP endpoint for traces; undefined: tracing is off. */
  readonly otlpEndpoint: string | undefined
  /** True if contract wallets may sign (ERC-1271, ERC-6492); each check is a chain request. */
  readonly contractWallets: boolean
  /** Mail server and sender; undefined: no sign-in by email (a sandbox writes emails to files). */
  readonly mail: { readonly smtpUrl: string; readonly from: string } | undefined
  /** Local test sellers that the egress guard allows; sandbox only. */
  readonly sandboxHosts: SandboxHosts
  readonly browser: BrowserSettings
  /** Sources of external listings. */
  readonly discovery: DiscoverySettings
  /** Embeddings engine for semantic search; undefined: keyword search only. */
  readonly embeddings: EmbedderSettings | undefined
  /** Ed25519 keys that protect all stored keys, the current one first; see `loadSigningKeys`. */
  readonly signingKeys: readonly KeyObject[]
  /** CAIP-2 names of the further networks on which callers can pay. */
  readonly networks: readonly Network[]
  /** Undefined in a sandbox, which has its own chain and wallets. */
  readonly production: ProductionChain | undefined
  /** Reads `HUB_SECRET_<NAME>` for plugins. */
  readonly secret: (name: string) => string | undefined
  /** Values that logs must not show: URLs with credentials, wallet keys and plugin secrets. */
  readonly secrets: readonly string[]
  /** One warning for each ignored variable that was probably meant for the hub. */
  readonly ignoredVariables: readonly string[]
}

/** Shutdown timing of a process. */
export interface Drain {
  /** Keeps serving while `/readyz` reports 503, so that load balancers notice. */
  readonly delaySeconds: number
  /** Time for requests in flight to finish before they are aborted. */
  readonly graceSeconds: number
}

/**
 * Reads the environment. Setting any wallet, RPC or facilitator variable selects production, which
 * requires all of them: a hub never starts half-configured.
 * @throws ConfigError
 */
export function readConfig(env: NodeJS.ProcessEnv = environment): Config {
  const parsed = Environment.safeParse(withoutEmpty(env))
  if (!parsed.success) {
    const { issues } = parsed.error
    const faults = issues.map((issue) => `${issue.path.join('.')}: ${issueMessage(issue)}`)
    throw new ConfigError(faults.join('\n'))
  }
  const e = parsed.data
  if (e.DATABASE_DIRECT_URL !== undefined && e.DATABASE_URL === undefined) {
    throw new ConfigError('DATABASE_DIRECT_URL requires DATABASE_URL: set it too.')
  }
  const production = productionOf(e)
  return Object.freeze({
    version: packageVersion(),
    host: e.HUB_HOST,
    port: e.HUB_PORT,
    inheritsSocket: inheritsSocket(e),
    dataDir: resolve(e.HUB_DATA_DIR),
    baseUrl: e.HUB_BASE_URL,
    mcpUrl: e.HUB_MCP_URL,
    mcpOrigins: e.HUB_MCP_ORIGINS,
    logLevel: e.HUB_LOG_LEVEL,
    admins: e.HUB_ADMIN_WALLETS ?? [],
    metricsToken: e.HUB_METRICS_TOKEN,
    commissionBps: e.HUB_COMMISSION_BPS,
    listing: {
      approval: e.HUB_APPROVAL === undefined ? production !== undefined : e.HUB_APPROVAL === 'on',
      noticeDays: e.HUB_PRICE_NOTICE_DAYS,
      sealingKeys: e.HUB_ENCRYPTION_KEYS,
    },
    egressPorts: e.HUB_EGRESS_PORTS,
    pluginHosts: e.HUB_PLUGIN_HOSTS,
    hosting: hostingSettings(e),
    connections: { max: e.HUB_CONNECTIONS, memoryBytes: e.HUB_CONNECTION_MEMORY * 1_048_576 },
    proxies: e.HUB_PROXIES,
    ...limitsOf(e, production !== undefined),
    documents: documentSettings(e, production !== undefined),
    jobs: e.HUB_JOBS === 'on',
    workers: e.HUB_WORKERS,
    rateStore: rateStoreOf(e, production !== undefined),
    drain: drainOf(e, production !== undefined),
    ...databaseOf(e),
    otlpEndpoint: e.OTEL_EXPORTER_OTLP_ENDPOINT,
    contractWallets: e.HUB_CONTRACT_WALLETS === 'on',
    ...destinationsOf(e),
    sandboxHosts: hostsOf(e.HUB_SANDBOX_HOSTS),
    browser: browserSettings(e),
    discovery: discoveryOf(e, production !== undefined),
    embeddings: embedderSettings(e),
    signingKeys: e.HUB_SIGNING_KEY ?? [],
    networks: e.HUB_X402_NETWORKS.map(({ network }) => network),
    production,
    secret: (name: string) => env[`HUB_SECRET_${name.toUpperCase()}`] || undefined,
    secrets: secretValues(env),
    ignoredVariables: [...findMisspelledVariables(env, VARIABLE_NAMES), ...findIgnoredPort(env)],
  })
}

/** The supervisor names the process that it passes a socket to; workers are its children. */
const inheritsSocket = ({ LISTEN_FDS, LISTEN_PID = 0 }: Environment): boolean =>
  LISTEN_FDS === 1 && [process.pid, process.ppid].includes(LISTEN_PID)

const drainOf = (e: Environment, isProduction: boolean): Drain => ({
  delaySeconds: e.HUB_DRAIN_DELAY ?? (isProduction ? 5 : 0),
  graceSeconds: e.HUB_DRAIN_SECONDS,
})

const SECRET_VARIABLES = new RegExp(
  '^(HUB_SECRET_.*|HUB_METRICS_TOKEN|HUB_CHECKPOINTS_WEBHOOK|' +
    '(DATABASE|DATABASE_(DIRECT|OWNER)|HUB_BACKUP_DATABASE|REDIS|RPC|SMTP|X402_FACILITATOR)_URL|' +
    'X402_FACILITATOR_TOKEN|HUB_X402_NETWORKS|HUB_BACKUP_PASSPHRASE|' +
    'OTEL_EXPORTER_OTLP_(ENDPOINT|HEADERS)|' +
    '(SPEND_WALLET|GAS_WALLET|HUB_SIGNING|HUB_EMBEDDINGS)_KEY|HUB_ENCRYPTION_KEYS)$',
)
/** Minimum length of a scrubbed secret; shorter ones would remove harmless words from logs. */
const SECRET_LENGTH_MIN = 8

/** Values of `Config.secrets`. Separate, so that configuration errors can be scrubbed as well. */
export const secretValues = (env: NodeJS.ProcessEnv = environment): readonly string[] =>
  Object.entries(env)
    .flatMap(([name, value = '']) =>
      SECRET_VARIABLES.test(name) ? [value, ...passwordsOf(value), ...networkSecrets(value)] : [],
    )
    .filter((value) => value.length >= SECRET_LENGTH_MIN)

/** Password in a URL, in its encoded and decoded forms. */
function passwordsOf(text: string): readonly string[] {
  const { password = '' } = URL.canParse(text) ? new URL(text) : {}
  try {
    return [password, decodeURIComponent(password)]
  } catch {
    return [password] // invalid percent-encoding
  }
}

const destinationsOf = (e: Environment) => ({
  cliCommand: e.HUB_CLI_COMMAND,
  securityContact: e.HUB_SECURITY_CONTACT,
  mail: mailOf(e),
  checkpoints: checkpointSettings(e),
  backup: backupSettings(e),
})

/** Email settings. The default sender uses the public host, because receivers check the domain. */
function mailOf({ SMTP_URL: smtpUrl, HUB_MAIL_FROM, HUB_BASE_URL }: Environment): Config['mail'] {
  if (smtpUrl === undefined) return undefined
  const host = HUB_BASE_URL === undefined ? 'localhost' : new URL(HUB_BASE_URL).hostname
  return { smtpUrl, from: HUB_MAIL_FROM ?? `no-reply@${host}` }
}

function discoveryOf(e: Environment, isProduction: boolean): DiscoverySettings {
  try {
    return discoverySettings(
      {
        indexes: e.HUB_INDEXES,
        ipfsGateway: e.HUB_IPFS_GATEWAY,
        facilitators: e.HUB_FACILITATORS,
        registryFromBlock: e.HUB_REGISTRY_FROM_BLOCK,
      },
      isProduction,
    )
  } catch (error) {
    throw new ConfigError(`HUB_INDEXES: ${(error as Error).message}`)
  }
}

function hostsOf(text: string): SandboxHosts {
  try {
    return parseSandboxHosts(text)
  } catch (error) {
    throw new ConfigError(`HUB_SANDBOX_HOSTS: ${(error as Error).message}`)
  }
}

/** Drops empty variables: compose files and shells unset a variable by setting it empty. */
const withoutEmpty = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
