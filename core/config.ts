import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type BrowserSettings, browserSettings } from './browser/settings.ts'
import { type DiscoverySettings, discoverySettings } from './catalog/listings/discovery/settings.ts'
import { type EmbedderSettings, embedderSettings } from './catalog/search/meaning/settings.ts'
import type { ListingSettings } from './catalog/upstreams/settings.ts'
import { Environment, NAMES } from './config/environment.ts'
import { misspeltIn } from './config/environment-typos.ts'
import { type ProductionChain, productionOf } from './config/production.ts'
import { parseSandboxHosts, type SandboxHosts } from './egress/sandbox.ts'
import { type Hosting, hostingSettings } from './hosting/settings.ts'
import { type Micros, usd } from './money.ts'
import { ConfigError } from './runtime/config-error.ts'
import type { RateStore } from './usage/open-windows.ts'

/** The only reader of the environment. Everything else is handed the frozen `Config`. */

export type { ProductionChain, RemoteFacilitator } from './config/production.ts'
export { ConfigError } from './runtime/config-error.ts'

export interface Config {
  readonly version: string
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** What callers see, if not the address that the server listens on. */
  readonly baseUrl: string | undefined
  /** Where callers reach MCP, if that has an origin of its own. */
  readonly mcpUrl: string | undefined
  /** Origins of pages and programs that may use MCP, as they stand in their `Origin`. */
  readonly mcpOrigins: readonly string[]
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Wallets whose keys are administrators', in lower case. */
  readonly admins: readonly string[]
  /** Who shows it may read `/metrics`; undefined: this machine may. */
  readonly metricsToken: string | undefined
  readonly commissionBps: number
  /** How owners list APIs without code. */
  readonly listing: ListingSettings
  /** Ports of foreign hosts that may be asked besides 80 and 443. */
  readonly egressPorts: readonly number[]
  /** Origins that plugins may ask wherever they are, such as a model server on this machine. */
  readonly pluginHosts: readonly string[]
  /** Plugins that the operator added, and how they run. */
  readonly hosting: Hosting
  /** Reverse proxies in front, each of which adds an address to X-Forwarded-For. */
  readonly proxies: number
  /** Cheaper calls are sold for credits alone: gas and fees would exceed the sale. */
  readonly minX402: Micros
  /** The most that is paid to sellers: for one call, and in a UTC day. */
  readonly outflow: {
    readonly call: Micros
    readonly key: Micros
    readonly host: Micros
    readonly platform: Micros
  }
  readonly payouts: {
    /** What is owed to a provider is paid from so much on. */
    readonly minimum: Micros
    /** So long a changed address waits until it is paid. */
    readonly cooldownHours: number
  }
  /** Adjustments of the books up to it need one person, larger ones two. */
  readonly adjustAlone: Micros
  readonly gas: {
    /** What one ETH is worth: what gas costs is booked in dollars too. */
    readonly ethPrice: Micros
    /** Below it the gas wallet raises the alarm. */
    readonly lowGwei: bigint
  }
  /** Shards of the ledger of a new installation; an old one keeps those that it has. */
  readonly shards: number
  /** Whether the server runs the jobs too; off where `npm run jobs` has processes of its own. */
  readonly jobs: boolean
  /** Processes that serve on the one port. */
  readonly workers: number
  readonly rateStore: RateStore
  readonly drain: Drain
  readonly databaseUrl: string | undefined
  /**
   * Past a pooler that gives connections out by the transaction, for what needs a session:
   * migrations, jobs, notifications. With it, `databaseUrl` is taken to be such a pooler's.
   */
  readonly databaseDirectUrl: string | undefined
  /** Where spans go (OTLP over HTTP); undefined: nowhere, and none are made. */
  readonly otlpEndpoint: string | undefined
  /** Whether wallets that are contracts may sign (ERC-1271, ERC-6492): each asks the chain. */
  readonly contractWallets: boolean
  /** What mails go out by, and from whom; undefined: nobody can sign in (in a sandbox: files). */
  readonly mail: { readonly smtpUrl: string; readonly from: string } | undefined
  /** `name.test=127.0.0.1:port` pairs that the egress guard lets through, in the sandbox alone. */
  readonly sandboxHosts: SandboxHosts
  readonly browser: BrowserSettings
  /** Where listings of others are looked for. */
  readonly discovery: DiscoverySettings
  /** The engine that compares meanings in searches; undefined: they go by words alone. */
  readonly embeddings: EmbedderSettings | undefined
  /** Ed25519, signs checkpoints of the ledger; undefined in the sandbox: see `loadSigningKey`. */
  readonly signingKey: KeyObject | undefined
  /** Undefined: the sandbox, with a chain and wallets of its own. */
  readonly production: ProductionChain | undefined
  /** `HUB_SECRET_<NAME>`, for plugins. */
  readonly secret: (name: string) => string | undefined
  /** What no log may show: addresses that may hold keys, wallets, and the secrets of plugins. */
  readonly secrets: readonly string[]
  /** A sentence for each variable that is ignored since its name is misspelt. */
  readonly misspelt: readonly string[]
}

/** How a process stops, in seconds. */
export interface Drain {
  /** Says that it is not ready, and serves on, until load balancers have noticed. */
  readonly delay: number
  /** Requests at work get this long to finish; then they are cut off. */
  readonly grace: number
}

const SANDBOX_ETH_PRICE = usd('3000')

/**
 * Reads the environment. Naming any wallet, RPC or facilitator means production, and then all of
 * them are needed: a hub never starts half-configured.
 * @throws ConfigError
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const parsed = Environment.safeParse(withoutEmpty(env))
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'),
    )
  }
  const e = parsed.data
  if (e.DATABASE_DIRECT_URL !== undefined && e.DATABASE_URL === undefined) {
    throw new ConfigError('DATABASE_DIRECT_URL goes past the pooler of DATABASE_URL: set it too.')
  }
  const production = productionOf(e)
  const sandboxHosts = hostsOf(e.HUB_SANDBOX_HOSTS)
  if (production && sandboxHosts.size > 0) {
    throw new ConfigError('HUB_SANDBOX_HOSTS is for the sandbox only: unset it.')
  }
  return Object.freeze({
    version: packageVersion(),
    host: e.HUB_HOST,
    port: e.HUB_PORT,
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
    proxies: e.HUB_PROXIES,
    ...limitsOf(e),
    shards: e.HUB_SHARDS,
    jobs: e.HUB_JOBS === 'on',
    workers: e.HUB_WORKERS,
    rateStore: rateStoreOf(e, production !== undefined),
    drain: { delay: e.HUB_DRAIN_DELAY ?? (production ? 5 : 0), grace: e.HUB_DRAIN_SECONDS },
    databaseUrl: e.DATABASE_URL,
    databaseDirectUrl: e.DATABASE_DIRECT_URL,
    otlpEndpoint: e.OTEL_EXPORTER_OTLP_ENDPOINT,
    contractWallets: e.HUB_CONTRACT_WALLETS === 'on',
    mail: mailOf(e),
    sandboxHosts,
    browser: browserSettings(e),
    discovery: discoveryOf(e, production !== undefined),
    embeddings: embedderSettings(e),
    signingKey: e.HUB_SIGNING_KEY,
    production,
    secret: (name: string) => env[`HUB_SECRET_${name.toUpperCase()}`] || undefined,
    secrets: secretsOf(env),
    misspelt: misspeltIn(env, NAMES),
  })
}

/** From how much, and up to how much, money moves. */
const limitsOf = (e: Environment) => ({
  minX402: e.HUB_X402_MIN,
  outflow: {
    call: e.HUB_PAY_MAX_CALL,
    key: e.HUB_PAY_MAX_KEY_DAY,
    host: e.HUB_PAY_MAX_HOST_DAY,
    platform: e.HUB_PAY_MAX_DAY,
  },
  payouts: { minimum: e.HUB_PAYOUT_MIN, cooldownHours: e.HUB_PAYOUT_COOLDOWN_HOURS },
  adjustAlone: e.HUB_ADJUST_ALONE,
  gas: { ethPrice: e.HUB_ETH_PRICE ?? SANDBOX_ETH_PRICE, lowGwei: e.HUB_GAS_LOW_GWEI },
})

const SECRET = new RegExp(
  '^(HUB_SECRET_.*|HUB_METRICS_TOKEN|' +
    '(DATABASE|DATABASE_DIRECT|REDIS|RPC|SMTP|X402_FACILITATOR)_URL|' +
    'X402_FACILITATOR_TOKEN|OTEL_EXPORTER_OTLP_(ENDPOINT|HEADERS)|' +
    '(SPEND_WALLET|GAS_WALLET|HUB_SIGNING|HUB_EMBEDDINGS)_KEY|HUB_ENCRYPTION_KEYS)$',
)
/** Shorter ones would take harmless words out of every line. */
const SECRET_MIN = 8

/** The values that `Config` names secret; for whoever has to tell that it cannot be read, too. */
export const secretsOf = (env: NodeJS.ProcessEnv = process.env): readonly string[] =>
  Object.entries(env)
    .flatMap(([name, value = '']) => (SECRET.test(name) ? [value, ...passwordsOf(value)] : []))
    .filter((value) => value.length >= SECRET_MIN)

/** What stands for the password in a URL, as it is written and as it is meant. */
function passwordsOf(text: string): readonly string[] {
  const { password = '' } = URL.canParse(text) ? new URL(text) : {}
  try {
    return [password, decodeURIComponent(password)]
  } catch {
    return [password] // a percent sign that escapes nothing
  }
}

/** Receivers want a sender at a host that there is. */
function mailOf({ SMTP_URL: smtpUrl, HUB_MAIL_FROM, HUB_BASE_URL }: Environment): Config['mail'] {
  if (smtpUrl === undefined) return undefined
  const host = HUB_BASE_URL === undefined ? 'localhost' : new URL(HUB_BASE_URL).hostname
  return { smtpUrl, from: HUB_MAIL_FROM ?? `no-reply@${host}` }
}

/**
 * Exact unless somebody wants it otherwise: only a sandbox of one process is known to be alone, and
 * may count in its memory.
 */
function rateStoreOf(e: Environment, isProduction: boolean): RateStore {
  if (e.HUB_RATE_STORE === 'memory' && e.HUB_WORKERS > 1) {
    throw new ConfigError('HUB_RATE_STORE=memory is for one process: unset HUB_WORKERS, or it.')
  }
  if (e.HUB_RATE_STORE !== undefined) return e.HUB_RATE_STORE
  if (e.REDIS_URL !== undefined) return { redisUrl: e.REDIS_URL }
  return isProduction || e.HUB_WORKERS > 1 ? 'database' : 'memory'
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

/** An empty variable means the same as none: that is how compose files and shells unset one. */
const withoutEmpty = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
