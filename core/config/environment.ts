import { isAddress } from 'viem'
import { z } from 'zod'
import { parseWitnessKey } from '../crypto/cosignature.ts'
import { parseSealingKeys } from '../crypto/sealing.ts'
import { parseSigningKeys } from '../crypto/signing-key.ts'
import { OWN_TAX_CATEGORIES } from '../finance/documents/document.ts'
import { isCountry } from '../finance/documents/party.ts'
import { parseEntries } from '../hosting/entry.ts'
import { usd } from '../money.ts'
import { signerFault } from '../payments/wallets/wallet-source.ts'
import { paymentNetworks } from './payment-networks.ts'

const origin = z.url({ protocol: /^https?$/ }).transform((text) => new URL(text).origin)
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'not an address: 0x and 40 hex digits')
const privateKey = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'not a private key: 0x and 64 hex digits')
const walletSigner = z.string().superRefine((text, context) => {
  const fault = signerFault(text)
  if (fault !== undefined) context.addIssue(fault)
})
const signingKey = z.string().transform((text, context) => {
  try {
    return parseSigningKeys(text)
  } catch (error) {
    context.addIssue((error as Error).message)
    return z.NEVER
  }
})
const sealingKeys = z.string().transform((text, context) => {
  try {
    return parseSealingKeys(text)
  } catch (error) {
    context.addIssue((error as Error).message)
    return z.NEVER
  }
})
const dollars = z.string().transform((text, context) => {
  try {
    return usd(text)
  } catch (error) {
    context.addIssue((error as Error).message)
    return z.NEVER
  }
})
/** Wallet addresses; mixed case must match the EIP-55 checksum, which detects typing errors. */
const addresses = z.string().transform((text, context) => {
  const names = text.split(',').map((name) => name.trim())
  for (const name of names.filter((each) => !isAddress(each))) {
    context.addIssue(`not an address in lower case or with its checksum: ${name}`)
  }
  return names.map((name) => name.toLowerCase())
})
const ports = z.string().transform((text, context) => {
  const list = text.split(',').filter((part) => part.trim() !== '')
  if (list.every((part) => /^ *[1-9]\d{0,4} *$/.test(part) && Number(part) < 65_536)) {
    return list.map(Number)
  }
  context.addIssue('not a list of ports, such as 8080,8443')
  return z.NEVER
})
/** Values of `Origin` headers, including non-web schemes such as `vscode-file`. */
const origins = z.string().transform((text, context) => {
  const names = text.split(',').flatMap((part) => part.trim() || [])
  for (const name of names.filter((each) => !/^[a-z][a-z\d+.-]*:\/\/[^/?#\s]+$/.test(each))) {
    context.addIssue(`not an origin, such as https://app.example: ${name}`)
  }
  return names
})
/** Witnesses: `witness.example/w1+0aea8b8c+BMyH… https://witness.example/add, …`. */
const witnesses = z.string().transform((text, context) =>
  text.split(',').flatMap((part) => {
    if (part.trim() === '') return []
    const [name = '', url = '', ...rest] = part.trim().split(/\s+/)
    const key = parseWitnessKey(name)
    const isUrl = /^https?:$/.test(URL.parse(url)?.protocol ?? '') && rest.length === 0
    if (key && isUrl) return [{ key, url }]
    context.addIssue(`not the verifier key of a witness and its URL: ${part.trim()}`)
    return []
  }),
)
/** Origins of the operator's servers: `http://127.0.0.1:11434,https://models.internal`. */
const backends = z.string().transform((text, context) => {
  const names = text.split(',').flatMap((part) => part.trim() || [])
  for (const name of names.filter((each) => !/^https?:$/.test(URL.parse(each)?.protocol ?? ''))) {
    context.addIssue(`not an origin, such as http://127.0.0.1:11434: ${name}`)
  }
  return names.map((name) => URL.parse(name)?.origin ?? name)
})
const plugins = z.string().transform((text, context) => {
  try {
    return parseEntries(text)
  } catch (error) {
    context.addIssue((error as Error).message)
    return z.NEVER
  }
})
const bps = z.coerce.number().int().min(0).max(10_000)

/** Address of a replica, whose login is that of the primary. */
const replicaAddress = z.url({ protocol: /^postgres(ql)?$/ }).refine(
  (text) => {
    const { username, password, searchParams } = new URL(text)
    return !username && !password && !searchParams.has('user') && !searchParams.has('password')
  },
  { error: 'must name no login: the replica is read with that of DATABASE_URL' },
)

/** Format and default of every variable that the hub reads; CONFIGURATION.md describes them. */
const Variables = z.object({
  HUB_HOST: z.string().default('127.0.0.1'),
  HUB_PORT: z.coerce.number().int().min(0).max(65_535).default(8402),
  LISTEN_FDS: z.coerce.number().int().max(1, 'the hub listens on one socket').optional(),
  LISTEN_PID: z.coerce.number().int().optional(),
  HUB_DATA_DIR: z.string().default('.agenthub'),
  HUB_BASE_URL: origin.optional(),
  HUB_MCP_URL: origin.optional(),
  HUB_CLI_COMMAND: z.string().trim().min(1).max(200).optional(),
  HUB_SECURITY_CONTACT: z.url({ protocol: /^(?:mailto|https)$/ }).optional(),
  HUB_MCP_ORIGINS: origins.prefault(''),
  HUB_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  HUB_ADMIN_WALLETS: addresses.optional(),
  HUB_CHECKPOINTS_WEBHOOK: z.url({ protocol: /^https?$/ }).optional(),
  HUB_CHECKPOINTS_MAIL: z.email().optional(),
  HUB_CHECKPOINTS_BUCKET: z
    .url()
    .refine((text) => text.startsWith('s3://'), 'not a bucket, such as s3://bucket/prefix')
    .optional(),
  HUB_CHECKPOINTS_BUCKET_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  HUB_CHECKPOINTS_LOCK_DAYS: z.coerce.number().int().min(1).max(36_500).default(3_650),
  HUB_WITNESSES: witnesses.prefault(''),
  HUB_BACKUP_TARGET: z.string().optional(),
  HUB_BACKUP_PASSPHRASE: z.string().min(12).max(1_000).optional(),
  HUB_BACKUP_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  HUB_BACKUP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  HUB_METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,200}$/, 'not 16 to 200 characters')
    .optional(),
  HUB_COMMISSION_BPS: bps.default(1_000),
  HUB_APPROVAL: z.enum(['on', 'off']).optional(),
  HUB_PRICE_NOTICE_DAYS: z.coerce.number().int().min(0).max(90).default(7),
  HUB_ENCRYPTION_KEYS: sealingKeys.prefault(''),
  HUB_CLUSTER: z.enum(['citus']).optional(),
  HUB_SHARDS: z.coerce.number().int().min(1).max(64).default(2),
  HUB_EGRESS_PORTS: ports.prefault(''),
  HUB_PLUGINS: plugins.prefault(''),
  HUB_PLUGIN_NODE: z.string().max(4_096).optional(),
  HUB_PLUGIN_MEMORY: z.coerce.number().int().min(32).max(16_384).default(256),
  HUB_PLUGIN_HOSTS: backends.prefault(''),
  HUB_CONNECTIONS: z.coerce.number().int().min(100).max(1_000_000).default(5_000),
  HUB_CONNECTION_MEMORY: z.coerce.number().int().min(64).max(65_536).default(256),
  HUB_PROXIES: z.coerce.number().int().min(0).max(10).default(0),
  HUB_X402_MIN: dollars.optional(),
  HUB_X402_PREPAID_ABOVE: dollars.prefault('0.01'),
  HUB_X402_NETWORKS: paymentNetworks.prefault('[]'),
  HUB_PAY_MAX_CALL: dollars.prefault('1'),
  HUB_PAY_MAX_KEY_DAY: dollars.prefault('50'),
  HUB_PAY_MAX_HOST_DAY: dollars.prefault('200'),
  HUB_PAY_MAX_DAY: dollars.prefault('1000'),
  HUB_PAY_MAX_UNRESOLVED: dollars.prefault('10'),
  HUB_PAY_MAX_SELLER_UNRESOLVED: dollars.prefault('10'),
  HUB_PAYOUT_MIN: dollars.prefault('1'),
  HUB_PAYOUT_COOLDOWN_HOURS: z.coerce.number().int().min(0).max(720).default(24),
  HUB_PAYOUT_RECOVERY_HOURS: z.coerce.number().int().min(0).max(2_160).default(168),
  HUB_PAYOUT_MAX_PROVIDER_DAY: dollars.prefault('1000'),
  HUB_PAYOUT_MAX_DAY: dollars.prefault('10000'),
  HUB_PAYOUT_ALONE: dollars.prefault('500'),
  HUB_PAYOUT_FIRST_WAIT_HOURS: z.coerce.number().int().min(0).max(720).optional(),
  HUB_PAYOUT_CREDIT_WAIT_HOURS: z.coerce.number().int().min(0).max(720).default(48),
  HUB_FRESH_SIGN_IN_MINUTES: z.coerce.number().int().min(1).max(60).default(10),
  HUB_STAFF_SESSION_HOURS: z.coerce.number().int().min(1).max(720).default(12),
  HUB_CREDITS_EXPIRE_DAYS: z.coerce.number().int().min(91).max(36_500).optional(),
  HUB_CREDITS_NOTICE_DAYS: z.coerce.number().int().min(7).max(90).default(30),
  HUB_ADJUST_ALONE: dollars.prefault('100'),
  HUB_ROLE_WAIT_HOURS: z.coerce.number().int().min(0).max(720).optional(),
  HUB_ROLE_REVIEW_DAYS: z.coerce.number().int().min(1).max(3_650).default(90),
  HUB_KEEP_EXPORTS_DAYS: z.coerce.number().int().min(1).max(3_650).default(30),
  HUB_KEEP_WEBHOOK_EVENTS_DAYS: z.coerce.number().int().min(7).max(365).default(30),
  HUB_KEEP_PROBES_DAYS: z.coerce.number().int().min(7).max(365).default(30),
  HUB_LEGAL_NAME: z.string().max(200).optional(),
  HUB_LEGAL_EMAIL: z.email().optional(),
  HUB_LEGAL_ADDRESS: z.string().max(500).optional(),
  HUB_LEGAL_COUNTRY: z
    .string()
    .refine(isCountry, 'not a country code, such as DE (ISO 3166-1)')
    .optional(),
  HUB_LEGAL_REGISTRATION: z.string().max(60).optional(),
  HUB_LEGAL_TAX_ID: z.string().max(60).optional(),
  HUB_TAX_CATEGORY: z.enum(OWN_TAX_CATEGORIES).default('O'),
  HUB_TAX_RATE: z.coerce.number().min(0).max(100).multipleOf(0.01).default(0),
  HUB_TAX_REASON: z.string().max(200).optional(),
  HUB_ETH_PRICE: dollars.optional(),
  HUB_ETH_PRICE_FEED: z
    .url({ protocol: /^https?$/ })
    .refine(
      (text) => text.includes('{day}') && text.includes('#/'),
      'must contain {day}, and end with # and a JSON pointer',
    )
    .optional(),
  HUB_GAS_LOW_GWEI: z.coerce.bigint().min(0n).default(2_000_000n),
  HUB_BROWSERS: z.coerce.number().int().min(0).max(16).default(2),
  HUB_CHROME_PATH: z.string().optional(),
  HUB_CHROME_SANDBOX: z.enum(['on', 'off']).default('on'),
  HUB_JOBS: z.enum(['on', 'off']).default('on'),
  HUB_WORKERS: z.coerce.number().int().min(1).max(64).default(1),
  HUB_RATE_STORE: z.enum(['memory', 'database', 'redis']).optional(),
  HUB_DRAIN_DELAY: z.coerce.number().min(0).max(300).optional(),
  HUB_DRAIN_SECONDS: z.coerce.number().min(0).max(3_600).default(30),
  HUB_SANDBOX_HOSTS: z.string().default(''),
  HUB_INDEXES: z.string().max(5_000).optional(),
  HUB_IPFS_GATEWAY: z.url({ protocol: /^https?$/ }).default('https://ipfs.io/ipfs/'),
  HUB_FACILITATORS: addresses.optional(),
  HUB_EMBEDDINGS_URL: z.url({ protocol: /^https?$/ }).optional(),
  HUB_EMBEDDINGS_MODEL: z.string().min(1).max(200).optional(),
  HUB_EMBEDDINGS_KEY: z.string().min(1).max(500).optional(),
  HUB_REGISTRY_FROM_BLOCK: z.coerce.bigint().min(0n).optional(),
  HUB_SIGNING_KEY: signingKey.optional(),
  HUB_CONTRACT_WALLETS: z.enum(['on', 'off']).default('off'),
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  HUB_MAIL_FROM: z.email().optional(),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  DATABASE_OWNER_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  DATABASE_DIRECT_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  DATABASE_REPLICA_URL: replicaAddress.optional(),
  DATABASE_REPLICA_SECONDS: z.coerce.number().min(3).max(300).default(10),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  RPC_URL: z.url({ protocol: /^https?$/ }).optional(),
  X402_FACILITATOR_URL: z.url({ protocol: /^https?$/ }).optional(),
  X402_FACILITATOR_TOKEN: z.string().optional(),
  X402_FACILITATOR_AUTH: z.string().optional(),
  TREASURY_ADDRESS: address.optional(),
  SPEND_WALLET_KEY: privateKey.optional(),
  SPEND_WALLET_KEY_FILE: z.string().max(4_096).optional(),
  SPEND_WALLET_SIGNER: walletSigner.optional(),
  SPEND_WALLET_ADDRESS: address.optional(),
  GAS_WALLET_KEY: privateKey.optional(),
  GAS_WALLET_KEY_FILE: z.string().max(4_096).optional(),
  GAS_WALLET_SIGNER: walletSigner.optional(),
  GAS_WALLET_ADDRESS: address.optional(),
  HUB_SIGNER_CA: z.string().max(4_096).optional(),
  HUB_SIGNER_CERT: z.string().max(4_096).optional(),
  HUB_SIGNER_CERT_KEY: z.string().max(4_096).optional(),
  HUB_ENV_KEY_MAX_BALANCE: dollars.prefault('1000'),
})

export const Environment = Variables.refine(
  ({ HUB_EMBEDDINGS_URL: url, HUB_EMBEDDINGS_MODEL: model }) => !url === !model,
  {
    path: ['HUB_EMBEDDINGS_URL'],
    error: 'requires HUB_EMBEDDINGS_MODEL, and the other way round: set both',
  },
)
  .refine(({ HUB_CLUSTER: cluster, DATABASE_URL: url }) => !cluster || url, {
    path: ['HUB_CLUSTER'],
    error: 'requires DATABASE_URL: the built-in database is one server',
  })
  .refine(({ DATABASE_REPLICA_URL: replica, DATABASE_URL: url }) => !replica || url, {
    path: ['DATABASE_REPLICA_URL'],
    error: 'requires DATABASE_URL, the primary',
  })

/** Names of all variables that the hub reads, except `HUB_SECRET_<NAME>`. */
export const VARIABLE_NAMES: readonly string[] = Object.keys(Variables.shape)

export type Environment = z.infer<typeof Environment>
