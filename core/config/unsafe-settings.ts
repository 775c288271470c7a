import { privateKeyToAddress } from 'viem/accounts'
import { dollars, type Micros, usd } from '../money.ts'
import { FURTHER_ASSETS, USDC_BASE } from '../payments/chain/asset.ts'
import type { Environment } from './environment.ts'
import { hasWrongChecksum, isKnownAddress, isKnownKey, isUnspendable } from './published-keys.ts'
import { repeatedSecretFault, seedOf, weakSecretFault } from './secret-strength.ts'
import {
  databaseFault,
  encryptedUrlFault,
  type Fault,
  mailServerFault,
  pageOriginFault,
  pluginHostFault,
  publicUrlFault,
  redisFault,
} from './unsafe-hosts.ts'

/** Reason why every value of a variable is safe, or the function that finds the unsafe ones. */
export type SafetyRule<Name extends keyof Environment> =
  | string
  | ((value: NonNullable<Environment[Name]>, e: Environment) => Fault)

type SafetyRules = { readonly [Name in keyof Environment]-?: SafetyRule<Name> }

const EACH_TUNES = 'Only changes how much of the machine the hub uses.'
const ONE_SIDE = 'Only says where something is on this machine.'
const ON_DOCUMENTS = 'Only stated on receipts and statements; prices stay the same.'
const COMMISSION_BPS_MAX = 5_000
const PRIVILEGED_PORTS = 1_024
/** Ports of databases, caches and control planes, which trust their network. */
const INTERNAL_PORTS = new Set([
  1433, 2375, 2376, 2379, 3306, 4222, 5432, 5672, 5984, 6379, 6443, 8500, 9042, 9092, 9200, 10250,
  11211, 15672, 26379, 27017,
])

const most = (limit: Micros) => (amount: Micros) =>
  amount > limit ? `must be at most $${dollars(limit)}` : undefined

const hoursAtLeast = (least: number) => (hours: number) =>
  hours < least ? `must be at least ${least}: a theft needs time to be noticed` : undefined

/** Checks the order of two limits, of which the narrower one must not exceed the wider one. */
const within =
  (limit: Micros, wider: 'HUB_PAY_MAX_KEY_DAY' | 'HUB_PAY_MAX_HOST_DAY' | 'HUB_PAY_MAX_DAY') =>
  (amount: Micros, e: Environment): Fault =>
    most(limit)(amount) ?? (amount > e[wider] ? `must be at most ${wider}` : undefined)

const first = <T>(values: readonly T[], find: (value: T) => Fault): Fault =>
  values.map(find).find((fault) => fault !== undefined)

const walletKey =
  (name: 'SPEND_WALLET_KEY' | 'GAS_WALLET_KEY') =>
  (key: string, e: Environment): Fault =>
    isKnownKey(key)
      ? 'is a published or guessable key: create a random one'
      : repeatedSecretFault(name, e)

/** Faults of an address of the operator. @param others keys whose wallets are other accounts */
function addressFault(address: string, others: readonly (string | undefined)[] = []): Fault {
  if (hasWrongChecksum(address)) return `${address} has a wrong checksum: a character is mistyped`
  if (isUnspendable(address)) return `${address} belongs to nobody`
  const tokens = [USDC_BASE, ...FURTHER_ASSETS].map((asset) => asset.address.toLowerCase())
  if (tokens.includes(address.toLowerCase())) return 'is the USDC contract'
  if (isKnownAddress(address)) return `${address} belongs to a published key`
  const isOther = others.some(
    (key) =>
      key && privateKeyToAddress(key as `0x${string}`).toLowerCase() === address.toLowerCase(),
  )
  return isOther ? `${address} is the wallet of SPEND_WALLET_KEY or GAS_WALLET_KEY` : undefined
}

/** The decision for every variable. The compiler demands one for each new variable. */
export const SAFETY_RULES: SafetyRules = {
  HUB_HOST: 'The proxy that serves HUB_BASE_URL by TLS may be on this machine or another one.',
  HUB_PORT: 'Only the proxy in front of the hub uses it.',
  LISTEN_FDS: 'The supervisor that starts the hub passes the socket.',
  LISTEN_PID: 'The supervisor that starts the hub passes the socket.',
  HUB_DATA_DIR: 'In production it contains browser profiles and checkpoints, and no money or keys.',
  HUB_BASE_URL: publicUrlFault,
  HUB_MCP_URL: publicUrlFault,
  HUB_CLI_COMMAND: 'Pages show it as text; the operator sets it.',
  HUB_SECURITY_CONTACT: 'Pages show it as text; reports of strangers go there.',
  HUB_MCP_ORIGINS: (origins) => first(origins, pageOriginFault),
  HUB_CHECKPOINTS_WEBHOOK: (url) => encryptedUrlFault(url, ['private']),
  HUB_CHECKPOINTS_MAIL: 'Checkpoints are public; only their readers lose by a wrong address.',
  HUB_CHECKPOINTS_BUCKET: 'Checkpoints are public; the bucket of others refuses them.',
  HUB_CHECKPOINTS_BUCKET_ENDPOINT: (url) => encryptedUrlFault(url, ['private']),
  HUB_CHECKPOINTS_LOCK_DAYS: (days) =>
    days < 365 ? 'must be at least 365: an audit of the year needs them' : undefined,
  HUB_WITNESSES: (witnesses) => first(witnesses, ({ url }) => encryptedUrlFault(url, ['private'])),
  HUB_BACKUP_TARGET: 'Backups are encrypted, and every restore drill reads them.',
  HUB_BACKUP_PASSPHRASE: (passphrase, e) =>
    weakSecretFault(passphrase) ?? repeatedSecretFault('HUB_BACKUP_PASSPHRASE', e),
  HUB_BACKUP_DATABASE_URL: databaseFault,
  HUB_BACKUP_ENDPOINT: (url) => encryptedUrlFault(url, ['private']),
  HUB_LOG_LEVEL: (level) =>
    level === 'silent' ? 'must not be silent: nobody would learn of missing money' : undefined,
  HUB_ADMIN_WALLETS: (wallets, e) =>
    first(wallets, (wallet) => addressFault(wallet, [e.SPEND_WALLET_KEY, e.GAS_WALLET_KEY])),
  HUB_METRICS_TOKEN: (token, e) =>
    weakSecretFault(token) ?? repeatedSecretFault('HUB_METRICS_TOKEN', e),
  HUB_COMMISSION_BPS: (bps) =>
    bps > COMMISSION_BPS_MAX ? `must be at most ${COMMISSION_BPS_MAX}, half of a price` : undefined,
  HUB_APPROVAL: (approval) =>
    approval === 'off' ? 'must be on: anybody could sell an API under your name' : undefined,
  HUB_PRICE_NOTICE_DAYS: (days) =>
    days < 1 ? 'must be at least 1: prices would rise without notice' : undefined,
  HUB_ENCRYPTION_KEYS: (keys, e) =>
    first(keys, ({ secret }) => weakSecretFault(secret.toString('latin1'))) ??
    repeatedSecretFault('HUB_ENCRYPTION_KEYS', e),
  HUB_CLUSTER: 'Only a server that offers the extension accepts it.',
  HUB_SHARDS: EACH_TUNES,
  HUB_EGRESS_PORTS: (ports) =>
    first(ports, (port) =>
      (port < PRIVILEGED_PORTS && port !== 80 && port !== 443) || INTERNAL_PORTS.has(port)
        ? `${port} is a port of mail, databases or control planes, which callers must not reach`
        : undefined,
    ),
  HUB_PLUGINS: (entries) =>
    first(entries, ({ spec, isolation }) =>
      isolation === undefined
        ? `${spec} must say how it runs: =process or =worker, or =inline if it may use your keys`
        : undefined,
    ),
  HUB_PLUGIN_NODE: ONE_SIDE,
  HUB_PLUGIN_MEMORY: EACH_TUNES,
  HUB_PLUGIN_HOSTS: (origins, e) => {
    const databases = [e.DATABASE_URL, e.DATABASE_DIRECT_URL, e.DATABASE_OWNER_URL]
    const stores = [...databases, e.DATABASE_REPLICA_URL, e.REDIS_URL]
    const services = [e.RPC_URL, ...stores, e.SMTP_URL]
    return first(origins, (origin) => pluginHostFault(origin, services))
  },
  HUB_CONNECTIONS: EACH_TUNES,
  HUB_CONNECTION_MEMORY: EACH_TUNES,
  HUB_PROXIES: 'Only the operator knows how many proxies there are.',
  HUB_X402_MIN: (amount, e) =>
    amount === 0n && !e.X402_FACILITATOR_URL
      ? 'must be above 0: gas would exceed the sale'
      : most(usd('1'))(amount),
  HUB_X402_PREPAID_ABOVE: most(usd('1')),
  HUB_X402_NETWORKS: (networks, e) =>
    first(
      networks,
      ({ rpc, facilitator, token, treasury }) =>
        first([rpc, facilitator], (url) => url && encryptedUrlFault(url)) ??
        (token === undefined ? undefined : weakSecretFault(token)) ??
        (treasury && addressFault(treasury, [e.SPEND_WALLET_KEY, e.GAS_WALLET_KEY])),
    ),
  HUB_PAY_MAX_CALL: within(usd('100'), 'HUB_PAY_MAX_KEY_DAY'),
  HUB_PAY_MAX_KEY_DAY: within(usd('5000'), 'HUB_PAY_MAX_DAY'),
  HUB_PAY_MAX_HOST_DAY: within(usd('20000'), 'HUB_PAY_MAX_DAY'),
  HUB_PAY_MAX_DAY: most(usd('100000')),
  HUB_PAY_MAX_UNRESOLVED: most(usd('1000')),
  HUB_PAY_MAX_SELLER_UNRESOLVED: most(usd('1000')),
  HUB_PAYOUT_MIN: (amount) =>
    amount < usd('0.1') ? 'must be at least $0.1: gas would exceed smaller payouts' : undefined,
  HUB_PAYOUT_COOLDOWN_HOURS: hoursAtLeast(24),
  HUB_PAYOUT_RECOVERY_HOURS: (hours, e) =>
    hoursAtLeast(48)(hours) ??
    (hours < e.HUB_PAYOUT_COOLDOWN_HOURS
      ? 'must be at least HUB_PAYOUT_COOLDOWN_HOURS'
      : undefined),
  HUB_PAYOUT_MAX_PROVIDER_DAY: most(usd('50000')),
  HUB_PAYOUT_MAX_DAY: most(usd('250000')),
  HUB_PAYOUT_ALONE: most(usd('5000')),
  HUB_PAYOUT_FIRST_WAIT_HOURS: hoursAtLeast(24),
  HUB_PAYOUT_CREDIT_WAIT_HOURS: hoursAtLeast(24),
  HUB_FRESH_SIGN_IN_MINUTES: 'Its format allows at most an hour.',
  HUB_STAFF_SESSION_HOURS: (hours) =>
    hours > 24 ? 'must be at most 24: a lost device would stay signed in' : undefined,
  HUB_CREDITS_EXPIRE_DAYS: (days) =>
    days < 365 ? 'must be at least 365: holders need time to spend what they bought' : undefined,
  HUB_CREDITS_NOTICE_DAYS: 'Its format requires at least a week.',
  HUB_ADJUST_ALONE: most(usd('1000')),
  HUB_ROLE_WAIT_HOURS: hoursAtLeast(12),
  HUB_LEGAL_NAME: ON_DOCUMENTS,
  HUB_LEGAL_EMAIL: ON_DOCUMENTS,
  HUB_LEGAL_ADDRESS: ON_DOCUMENTS,
  HUB_LEGAL_COUNTRY: ON_DOCUMENTS,
  HUB_LEGAL_REGISTRATION: ON_DOCUMENTS,
  HUB_LEGAL_TAX_ID: ON_DOCUMENTS,
  HUB_TAX_CATEGORY: ON_DOCUMENTS,
  HUB_TAX_RATE: ON_DOCUMENTS,
  HUB_TAX_REASON: ON_DOCUMENTS,
  HUB_KEEP_EXPORTS_DAYS: (days) =>
    days > 366 ? 'must be at most 366: files of exports contain the data of customers' : undefined,
  HUB_KEEP_WEBHOOK_EVENTS_DAYS: 'Its format allows a week to a year.',
  HUB_KEEP_PROBES_DAYS: 'Its format allows a week to a year.',
  HUB_ROLE_REVIEW_DAYS: (days) =>
    days > 366 ? 'must be at most 366: roles of people who left would stay' : undefined,
  HUB_ETH_PRICE: (price) =>
    price < usd('100') || price > usd('100000') ? 'must be the price of one ETH in USD' : undefined,
  HUB_ETH_PRICE_FEED: (url) => encryptedUrlFault(url),
  HUB_GAS_LOW_GWEI: (gwei, e) =>
    gwei === 0n && !e.X402_FACILITATOR_URL
      ? 'must be above 0: no payment settles without gas'
      : undefined,
  HUB_BROWSERS: EACH_TUNES,
  HUB_CHROME_PATH: ONE_SIDE,
  HUB_CHROME_SANDBOX: (sandbox, e) =>
    sandbox === 'off' && e.HUB_BROWSERS > 0
      ? 'must be on, or HUB_BROWSERS=0: pages of strangers could reach the keys'
      : undefined,
  HUB_JOBS: 'Jobs may run in processes of their own.',
  HUB_WORKERS: EACH_TUNES,
  HUB_RATE_STORE: 'Counting in memory is refused for more than one worker.',
  HUB_DRAIN_DELAY: EACH_TUNES,
  HUB_DRAIN_SECONDS: EACH_TUNES,
  HUB_SANDBOX_HOSTS: (hosts) => (hosts === '' ? undefined : 'works in a sandbox only: unset it'),
  HUB_INDEXES: (text) =>
    text.includes('=http:')
      ? 'must contain https:// URLs only, because they are believed'
      : undefined,
  HUB_IPFS_GATEWAY: (url) => encryptedUrlFault(url),
  HUB_FACILITATORS: 'Only evidence of how listings are used.',
  HUB_EMBEDDINGS_URL: (url) => encryptedUrlFault(url, ['private']),
  HUB_EMBEDDINGS_MODEL: EACH_TUNES,
  HUB_EMBEDDINGS_KEY: (_, e) => repeatedSecretFault('HUB_EMBEDDINGS_KEY', e),
  HUB_REGISTRY_FROM_BLOCK: EACH_TUNES,
  HUB_SIGNING_KEY: (keys, e) =>
    keys.some((key) => isKnownKey(`0x${seedOf(key)}`))
      ? 'contains a published or guessable key: create a random one'
      : repeatedSecretFault('HUB_SIGNING_KEY', e),
  HUB_CONTRACT_WALLETS: 'Their signatures are checked by a node that has proven its chain.',
  SMTP_URL: (url, e) => mailServerFault(url) ?? repeatedSecretFault('SMTP_URL', e),
  HUB_MAIL_FROM: 'Receivers check the sender against its domain.',
  DATABASE_URL: (url, e) => databaseFault(url) ?? repeatedSecretFault('DATABASE_URL', e),
  DATABASE_DIRECT_URL: databaseFault,
  DATABASE_OWNER_URL: databaseFault,
  DATABASE_REPLICA_URL: databaseFault,
  DATABASE_REPLICA_SECONDS: 'Bounded by its format; nothing about money reads the replica.',
  REDIS_URL: (url, e) => redisFault(url) ?? repeatedSecretFault('REDIS_URL', e),
  OTEL_EXPORTER_OTLP_ENDPOINT: (url) => encryptedUrlFault(url, ['private']),
  RPC_URL: (url) => encryptedUrlFault(url),
  X402_FACILITATOR_URL: (url) => encryptedUrlFault(url),
  X402_FACILITATOR_TOKEN: (token, e) =>
    weakSecretFault(token) ?? repeatedSecretFault('X402_FACILITATOR_TOKEN', e),
  X402_FACILITATOR_AUTH: ONE_SIDE,
  TREASURY_ADDRESS: (address, e) => addressFault(address, [e.SPEND_WALLET_KEY, e.GAS_WALLET_KEY]),
  SPEND_WALLET_KEY: walletKey('SPEND_WALLET_KEY'),
  GAS_WALLET_KEY: walletKey('GAS_WALLET_KEY'),
  SPEND_WALLET_KEY_FILE: 'Its rights are checked when it is read.',
  SPEND_WALLET_SIGNER: 'Its format allows TLS and this machine only.',
  SPEND_WALLET_ADDRESS: (address) => addressFault(address),
  GAS_WALLET_KEY_FILE: 'Its rights are checked when it is read.',
  GAS_WALLET_SIGNER: 'Its format allows TLS and this machine only.',
  GAS_WALLET_ADDRESS: (address, e) => addressFault(address, [e.SPEND_WALLET_KEY]),
  HUB_SIGNER_CA: ONE_SIDE,
  HUB_SIGNER_CERT: ONE_SIDE,
  HUB_SIGNER_CERT_KEY: ONE_SIDE,
  HUB_ENV_KEY_MAX_BALANCE: most(usd('10000')),
}

/** Returns one sentence for each variable whose value is not safe with real money. */
export const findUnsafeSettings = (e: Environment): readonly string[] =>
  Object.entries(SAFETY_RULES).flatMap(([name, rule]) => {
    const value = e[name as keyof Environment]
    if (typeof rule === 'string' || value === undefined) return []
    // The rule of a variable takes the values of that variable.
    const fault = (rule as (value: unknown, e: Environment) => Fault)(value, e)
    return fault === undefined ? [] : [`${name} ${fault}.`]
  })
