import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { VARIABLE_NAMES } from '../../../core/config/environment.ts'
import { SAFETY_RULES } from '../../../core/config/unsafe-settings.ts'
import { ConfigError, readConfig } from '../../../core/config.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { PUBLISHED_ADDRESS, UNSAFE_NETWORKS } from './network-list.ts'

const signingKey = () =>
  generateKeyPairSync('ed25519')
    .privateKey.export({ format: 'der', type: 'pkcs8' })
    .toString('base64')
const SPEND = generatePrivateKey()
const GAS = generatePrivateKey()
const SAFE = {
  DATABASE_URL: 'postgres://hub:Vb7kQe2mXw9rTz4@db/hub',
  HUB_BASE_URL: 'https://hub.acme.com',
  RPC_URL: 'https://rpc.acme.com/v1',
  TREASURY_ADDRESS: privateKeyToAddress(generatePrivateKey()),
  SPEND_WALLET_KEY: SPEND,
  GAS_WALLET_KEY: GAS,
  HUB_ETH_PRICE: '3000',
  HUB_SIGNING_KEY: signingKey(),
}
/** First account of Anvil and Hardhat. */
const PUBLISHED = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
/** Accounts 7 of Anvil and 0 of Truffle. */
const PUBLISHED_TOO = [
  '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356',
  '0xc87509a1c067bbde78beb793e6fa76530b6382a4c0241e5e4a9ec0a0f44dc0d3',
]
const ZERO = `0x${'0'.repeat(40)}`
const TOKEN = 'k3Jx-92mQzR7vTpL'
const sealing = (fill: Buffer) => `one:${fill.toString('base64')}`

/** The configuration with which the hub once started. */
const UNSAFE = {
  ...SAFE,
  HUB_BASE_URL: 'http://hub.acme.com',
  RPC_URL: 'http://rpc.acme.com',
  X402_FACILITATOR_URL: 'http://facilitator.acme.com',
  TREASURY_ADDRESS: ZERO,
  SPEND_WALLET_KEY: PUBLISHED,
  GAS_WALLET_KEY: PUBLISHED,
  HUB_APPROVAL: 'off',
  HUB_PAYOUT_COOLDOWN_HOURS: '0',
  HUB_ADJUST_ALONE: '1000000',
  HUB_PLUGIN_HOSTS: 'http://169.254.169.254',
  SMTP_URL: 'smtp://mail.acme.com',
}

/** Values that are refused, and what is added to the safe configuration to see it. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  HUB_BASE_URL: [
    'http://hub.acme.com',
    'https://127.0.0.1',
    'https://203.0.113.5',
    'https://[::1]',
    'https://localhost',
    'https://hub',
    'https://hub.internal',
    'https://hub.local',
  ],
  HUB_MCP_URL: ['http://mcp.acme.com', 'https://10.1.2.3'],
  HUB_MCP_ORIGINS: ['https://app.acme.com,http://app.acme.com'],
  HUB_LOG_LEVEL: ['silent'],
  HUB_ADMIN_WALLETS: [ZERO, PUBLISHED_ADDRESS, privateKeyToAddress(SPEND), USDC_BASE.address],
  HUB_METRICS_TOKEN: ['aaaaaaaaaaaaaaaa', 'abababababababab'],
  HUB_COMMISSION_BPS: ['5001', '10000'],
  HUB_APPROVAL: ['off'],
  HUB_PRICE_NOTICE_DAYS: ['0'],
  HUB_ENCRYPTION_KEYS: [sealing(Buffer.alloc(32)), sealing(Buffer.alloc(32, 'ab'))],
  HUB_EGRESS_PORTS: ['8080,25', '5432', '22', '6379'],
  HUB_PLUGINS: ['acme-weather', 'acme-weather+http'],
  HUB_PLUGIN_HOSTS: [
    'http://169.254.169.254',
    'http://[fe80::1]',
    'http://metadata.google.internal',
    'http://2852039166',
    'http://[::ffff:169.254.169.254]',
    'http://168.63.129.16',
    'http://0.0.0.0:8080',
    'http://models.acme.com',
    'http://db:5432',
    'http://[fd00:ec2::254]',
    SAFE.RPC_URL,
  ],
  HUB_X402_MIN: ['0', '1.01'],
  HUB_PAY_MAX_CALL: ['100.01', '51'],
  HUB_PAY_MAX_KEY_DAY: ['5001', '1001'],
  HUB_PAY_MAX_HOST_DAY: ['20001', '1001'],
  HUB_PAY_MAX_DAY: ['100001'],
  HUB_X402_PREPAID_ABOVE: ['1.01'],
  HUB_X402_NETWORKS: UNSAFE_NETWORKS,
  HUB_PAY_MAX_UNRESOLVED: ['1001'],
  HUB_PAY_MAX_SELLER_UNRESOLVED: ['1001'],
  HUB_PAYOUT_MIN: ['0', '0.09'],
  HUB_PAYOUT_RECOVERY_HOURS: ['0', '47'],
  HUB_PAYOUT_MAX_PROVIDER_DAY: ['50001'],
  HUB_PAYOUT_MAX_DAY: ['250001'],
  HUB_PAYOUT_ALONE: ['5001'],
  HUB_PAYOUT_FIRST_WAIT_HOURS: ['0', '23'],
  HUB_PAYOUT_CREDIT_WAIT_HOURS: ['0'],
  HUB_STAFF_SESSION_HOURS: ['720'],
  HUB_PAYOUT_COOLDOWN_HOURS: ['0', '23'],
  HUB_CREDITS_EXPIRE_DAYS: ['364'],
  HUB_ADJUST_ALONE: ['1000000', '1000.01'],
  HUB_ROLE_WAIT_HOURS: ['0', '11'],
  HUB_CHECKPOINTS_WEBHOOK: ['http://witness.acme.com/notes'],
  HUB_WITNESSES: ['w.io+2e017595+BAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH http://w.io'],
  HUB_BACKUP_ENDPOINT: ['http://s3.acme.com'],
  HUB_CHECKPOINTS_BUCKET_ENDPOINT: ['http://s3.acme.com'],
  HUB_CHECKPOINTS_LOCK_DAYS: ['30'],
  HUB_BACKUP_PASSPHRASE: ['too-short-123', 'aaaaaaaaaaaaaaaaaaaa'],
  HUB_BACKUP_DATABASE_URL: ['postgres://backup:secret-of-backups@db.acme.com/hub'],
  HUB_ROLE_REVIEW_DAYS: ['367'],
  HUB_KEEP_EXPORTS_DAYS: ['367'],
  SPEND_WALLET_ADDRESS: [ZERO, PUBLISHED_ADDRESS],
  GAS_WALLET_ADDRESS: [ZERO, privateKeyToAddress(SPEND)],
  HUB_ENV_KEY_MAX_BALANCE: ['10001'],
  HUB_ETH_PRICE: ['0', '1', '3000000'],
  HUB_ETH_PRICE_FEED: ['http://prices.acme.com/eth?day={day}#/price'],
  HUB_GAS_LOW_GWEI: ['0'],
  HUB_CHROME_SANDBOX: ['off'],
  HUB_SANDBOX_HOSTS: ['seller.test=127.0.0.1:4701'],
  HUB_INDEXES: ['one=https://a.acme.com,two=http://b.acme.com'],
  HUB_IPFS_GATEWAY: ['http://ipfs.acme.com/ipfs/'],
  HUB_EMBEDDINGS_URL: ['http://models.acme.com/v1'],
  HUB_EMBEDDINGS_KEY: [SPEND.slice(2)],
  HUB_SIGNING_KEY: [
    'MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g', // RFC 8032
    `MC4CAQAwBQYDK2VwBCIEI${'A'.repeat(43)}`,
  ],
  SMTP_URL: ['smtp://mail.acme.com', 'smtps://mail.acme.com?tls.rejectUnauthorized=false'],
  DATABASE_URL: [
    'postgres://hub@203.0.113.5/hub',
    'postgres://hub@db.acme.com/hub?sslmode=no-verify',
    'postgres://hub@localhost/hub?host=db.acme.com',
  ],
  DATABASE_DIRECT_URL: ['postgres://hub@db.acme.com/hub'],
  DATABASE_OWNER_URL: ['postgres://owner@db.acme.com/hub'],
  DATABASE_REPLICA_URL: ['postgres://db.acme.com'],
  REDIS_URL: ['redis://store.acme.com:6379', 'redis://169.254.169.254'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['http://traces.acme.com', 'http://169.254.169.254'],
  RPC_URL: ['http://rpc.acme.com', 'http://10.0.0.7:8545', 'http://base-node:8545'],
  X402_FACILITATOR_URL: ['http://facilitator.acme.com'],
  X402_FACILITATOR_TOKEN: ['short-token'],
  TREASURY_ADDRESS: [
    ZERO,
    '0x000000000000000000000000000000000000dEaD',
    USDC_BASE.address,
    `0x${'dead'.repeat(10)}`,
    `0x${'ee'.repeat(20)}`,
    PUBLISHED_ADDRESS,
    privateKeyToAddress(SPEND),
    privateKeyToAddress(GAS).toLowerCase(),
    SAFE.TREASURY_ADDRESS.replace(/[a-f]/, (sign) => sign.toUpperCase()).replace(
      /[A-F](?=[^A-F]*$)/,
      (sign) => sign.toLowerCase(),
    ),
  ],
  SPEND_WALLET_KEY: [
    PUBLISHED,
    ...PUBLISHED_TOO,
    `0x${'1'.repeat(64)}`,
    `0x${'2a'.padStart(64, '0')}`,
  ],
  GAS_WALLET_KEY: [PUBLISHED, SPEND],
}

/** Values that are accepted, because nothing foreign is between the hub and its counterpart. */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  RPC_URL: ['http://127.0.0.1:8545', 'http://localhost:8545'],
  X402_FACILITATOR_URL: ['http://127.0.0.1:4021'],
  DATABASE_URL: [
    'postgres://hub@10.0.0.7/hub',
    'postgres://hub@localhost/hub?host=/var/run/postgresql',
    'postgres://hub@db.acme.com/hub?sslmode=verify-full',
  ],
  REDIS_URL: ['redis://store:6379', 'rediss://store.acme.com'],
  SMTP_URL: [
    'smtp://localhost:25',
    'smtp://mail.acme.com:587?requireTLS=true',
    'smtps://a.acme.com',
  ],
  HUB_PLUGIN_HOSTS: ['http://127.0.0.1:11434', 'http://10.0.0.8:9000', 'https://models.acme.com'],
  HUB_MCP_ORIGINS: ['http://localhost:6274,vscode-file://vscode-app,https://app.acme.com'],
  HUB_PLUGINS: ['acme-weather=process+http', './mine=inline'],
  HUB_METRICS_TOKEN: [TOKEN],
  HUB_EGRESS_PORTS: ['8080,8443'],
  HUB_LOG_LEVEL: ['debug', 'error'],
}

const refusal = (env: NodeJS.ProcessEnv): string => {
  try {
    readConfig(env)
    return ''
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError)
    return (error as Error).message
  }
}
const withModel = (name: string) =>
  name === 'HUB_EMBEDDINGS_URL' ? { HUB_EMBEDDINGS_MODEL: 'm' } : {}

describe('a configuration for real money', () => {
  it('starts with safe settings, and with the defaults of everything else', () => {
    expect(refusal(SAFE)).to.equal('')
  })

  it('A190 is refused with one sentence for each unsafe variable, all at once', () => {
    const lines = refusal(UNSAFE).split('\n')
    expect(lines[0]).to.equal('These settings are not safe with real money:')
    const isUnsafe = (name: string) => UNSAFE[name as 'RPC_URL'] !== SAFE[name as 'RPC_URL']
    const names = Object.keys(UNSAFE).filter(isUnsafe)
    expect(lines.slice(1, -1).map((line) => line.split(' ')[0])).to.have.members(names)
    expect(lines.at(-1)).to.match(/^To run a sandbox, unset RPC_URL, .*GAS_WALLET_KEY\.$/)
  })

  it('names missing and unsafe variables together', () => {
    const { HUB_SIGNING_KEY: _, ...incomplete } = UNSAFE
    expect(refusal(incomplete)).to.match(
      /variables too: HUB_SIGNING_KEY\.\n.*not safe.*\nHUB_BASE/s,
    )
  })

  for (const [name, values] of Object.entries(REFUSED)) {
    it(`refuses every unsafe value of ${name}`, () => {
      for (const value of values) {
        const text = refusal({ ...SAFE, ...withModel(name), [name]: value })
        expect(text, value).to.match(new RegExp(`^${name} .+\\.$`, 'm'))
        expect(text, 'shows no secret').not.to.contain(SPEND.slice(2))
      }
    })
  }

  for (const [name, values] of Object.entries(ACCEPTED)) {
    it(`accepts a local or encrypted ${name}`, () => {
      for (const value of values) expect(refusal({ ...SAFE, [name]: value }), value).to.equal('')
    })
  }

  it('has a decision for every variable, and a refused value for every rule', () => {
    const byFunction = Object.entries(SAFETY_RULES).filter(([, rule]) => typeof rule === 'function')
    expect(Object.keys(SAFETY_RULES)).to.have.members(VARIABLE_NAMES)
    expect(Object.keys(REFUSED)).to.have.members(byFunction.map(([name]) => name))
    for (const [name, rule] of Object.entries(SAFETY_RULES)) {
      if (typeof rule === 'string') expect(rule.length, name).to.be.above(20)
    }
  })

  it('requires the alert of the gas wallet also if its key is in a file', () => {
    const { GAS_WALLET_KEY: _, ...others } = SAFE
    const env = { ...others, GAS_WALLET_KEY_FILE: '/run/gas', HUB_GAS_LOW_GWEI: '0' }
    expect(refusal(env)).to.contain('HUB_GAS_LOW_GWEI must be above 0')
  })

  it('lets no plugin reach the database of the owner', () => {
    const owner = { DATABASE_OWNER_URL: 'postgres://owner@10.0.0.9/hub' }
    const env = { ...SAFE, ...owner, HUB_PLUGIN_HOSTS: 'http://10.0.0.9:5432' }
    expect(refusal(env)).to.contain('is a service of the hub itself')
  })

  it('refuses a secret that has two purposes', () => {
    const env = { ...SAFE, HUB_METRICS_TOKEN: TOKEN, X402_FACILITATOR_TOKEN: TOKEN }
    expect(refusal(env)).to.contain(
      'X402_FACILITATOR_TOKEN is the same secret as HUB_METRICS_TOKEN',
    )
    const database = { ...SAFE, HUB_METRICS_TOKEN: 'Vb7kQe2mXw9rTz4x' }
    expect(
      refusal({ ...database, DATABASE_URL: 'postgres://hub:Vb7kQe2mXw9rTz4x@db/hub' }),
    ).to.contain('DATABASE_URL is the same secret')
  })

  it('applies to a sandbox in no way', () => {
    const isReal = /^(?:RPC_URL|TREASURY_ADDRESS|X402_FACILITATOR_URL|(?:SPEND|GAS)_WALLET_KEY)$/
    const sandbox = Object.entries(UNSAFE).filter(([name]) => !isReal.test(name))
    expect(refusal(Object.fromEntries(sandbox))).to.equal('')
  })

  for (const command of ['serve', 'jobs', 'ledger', 'payments', 'listings', 'plugins', 'tenders']) {
    it(`is obeyed by the command ${command}`, async () => {
      const words = { ledger: 'balances', payments: 'status', listings: 'status', plugins: 'list' }
      const word = words[command as 'ledger'] ?? (command === 'tenders' ? 'status' : '')
      const args = ['server/main.ts', command, word].filter((each) => each !== '')
      const env = { ...UNSAFE, HUB_DATA_DIR: '/dev/null/none' }
      const failed = await promisify(execFile)(process.execPath, args, { env }).then(
        () => ({ code: 0, stderr: '' }),
        (error: { code: number; stderr: string }) => error,
      )
      expect(failed.code).to.equal(1)
      expect(failed.stderr).to.match(/not safe with real money[^]*TREASURY_ADDRESS/)
      expect(failed.stderr).not.to.contain(PUBLISHED.slice(2))
    })
  }
})
