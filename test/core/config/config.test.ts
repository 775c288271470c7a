import { generateKeyPairSync } from 'node:crypto'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { ConfigError, readConfig } from '../../../core/config.ts'

const KEY = '0x6b1f0e93c7d84a25b09e7f3c1d5a8e42f69b70c4d1832ea5f7069cb84d3e12a7'
const GAS_KEY = '0xd20c7a4f9e13b86570e4a9d2c85f3b167e08d94ac61b25f73d90e8a41bc7652f'
const { privateKey } = generateKeyPairSync('ed25519')
const PRODUCTION = {
  DATABASE_URL: 'postgres://hub@db/hub',
  HUB_BASE_URL: 'https://hub.acme.com/ignored/path',
  RPC_URL: 'https://rpc.example',
  TREASURY_ADDRESS: '0x5f3b8c0a91d2e47c6a0b1f8d93e2c4a75b6d1e09',
  SPEND_WALLET_KEY: KEY,
  X402_FACILITATOR_URL: 'https://facilitator.example',
  HUB_SIGNING_KEY: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
}

const without = (name: string) =>
  Object.fromEntries(Object.entries(PRODUCTION).filter(([key]) => key !== name))

describe('the configuration', () => {
  it('of an empty environment is a sandbox that listens on this machine only', () => {
    const config = readConfig({})
    expect(config).to.include({ host: '127.0.0.1', port: 8402, commissionBps: 1_000 })
    expect(config.production).to.equal(undefined)
    expect(config.databaseUrl).to.equal(undefined)
    expect(config.dataDir).to.match(/\/\.agenthub$/)
  })

  it('is frozen', () => {
    expect(readConfig({})).to.satisfy(Object.isFrozen)
  })

  it('treats an empty variable as unset', () => {
    const empty = Object.fromEntries(
      [...Object.keys(PRODUCTION), 'HUB_PORT', 'GAS_WALLET_KEY', 'HUB_SECRET_MAIL'].map((name) => [
        name,
        '',
      ]),
    )
    const config = readConfig(empty)
    expect(config).to.include({ production: undefined, databaseUrl: undefined, port: 8402 })
    expect(config.secret('mail')).to.equal(undefined)
  })

  it('accepts origins in HUB_PLUGIN_HOSTS and reports invalid ones', () => {
    const hosts = 'http://127.0.0.1:11434, https://models.internal/ignored'
    expect(readConfig({ HUB_PLUGIN_HOSTS: hosts }).pluginHosts).to.deep.equal([
      'http://127.0.0.1:11434',
      'https://models.internal',
    ])
    expect(() => readConfig({ HUB_PLUGIN_HOSTS: 'localhost:11434' })).to.throw(
      ConfigError,
      'HUB_PLUGIN_HOSTS: not an origin',
    )
  })

  it('of production has everything that real money needs', () => {
    const { production, baseUrl, signingKeys } = readConfig(PRODUCTION)
    expect(signingKeys.map((key) => key.equals(privateKey))).to.deep.equal([true])
    expect(baseUrl).to.equal('https://hub.acme.com')
    expect(production).to.deep.equal({
      rpcUrl: PRODUCTION.RPC_URL,
      treasury: PRODUCTION.TREASURY_ADDRESS,
      spendKey: { kind: 'environment', key: KEY },
      facilitator: { url: PRODUCTION.X402_FACILITATOR_URL },
      signerTls: { ca: undefined, cert: undefined, key: undefined },
      environmentKeyLimit: 1_000_000_000n,
      ethPrice: 0n,
      networks: [],
    })
    const gas = { GAS_WALLET_KEY: GAS_KEY, HUB_ETH_PRICE: '2875.5' }
    const own = readConfig({ ...without('X402_FACILITATOR_URL'), ...gas })
    expect(own.production?.facilitator).to.deep.equal({
      gasKey: { kind: 'environment', key: GAS_KEY },
    })
    const gasSettings = { ethPrice: 2_875_500_000n, lowGwei: 2_000_000n, priceFeed: undefined }
    expect(own.gas).to.deep.equal(gasSettings)
  })

  it('accepts wallet keys in files and remote signers, one source per wallet', () => {
    const { SPEND_WALLET_KEY: _, ...rest } = PRODUCTION
    const spend = (more: object) => readConfig({ ...rest, ...more }).production?.spendKey
    const address = '0x4B1f5e9a0C3d27E8B6a94F01d2c7E35A8b60F9d1'.toLowerCase()
    expect(spend({ SPEND_WALLET_KEY_FILE: '/run/key' })).to.include({ path: '/run/key' })
    const remote = { SPEND_WALLET_SIGNER: 'https://signer:9000', SPEND_WALLET_ADDRESS: address }
    expect(spend(remote)).to.include({ kind: 'web3signer', address })
    const kms = { ...remote, SPEND_WALLET_SIGNER: 'aws-kms:alias/hub' }
    expect(spend(kms)).to.include({ kind: 'aws-kms', keyId: 'alias/hub' })
    const two = { SPEND_WALLET_KEY: KEY, SPEND_WALLET_KEY_FILE: '/run/key' }
    expect(() => spend(two)).to.throw(ConfigError, 'Set one of SPEND_WALLET_KEY')
    const nobody = { SPEND_WALLET_SIGNER: 'https://signer:9000' }
    expect(() => spend(nobody)).to.throw(ConfigError, 'requires SPEND_WALLET_ADDRESS')
    const plain = { ...remote, SPEND_WALLET_SIGNER: 'http://signer:9000' }
    expect(() => spend(plain)).to.throw(ConfigError, 'SPEND_WALLET_SIGNER: not https://')
  })

  it('accepts the keys that HUB_SIGNING_KEY replaces', () => {
    const other = generateKeyPairSync('ed25519').privateKey
    const text = other.export({ format: 'der', type: 'pkcs8' }).toString('base64')
    const value = `${text}, ${PRODUCTION.HUB_SIGNING_KEY}`
    const { signingKeys } = readConfig({ HUB_SIGNING_KEY: value })
    expect(signingKeys.map((key) => key.equals(other))).to.deep.equal([true, false])
    expect(signingKeys.map((key) => key.equals(privateKey))).to.deep.equal([false, true])
  })

  it('requires the price of ETH for a gas wallet outside the sandbox', () => {
    const own = { ...without('X402_FACILITATOR_URL'), GAS_WALLET_KEY: GAS_KEY }
    expect(() => readConfig(own)).to.throw(ConfigError, 'variables too: HUB_ETH_PRICE.')
    expect(readConfig({}).gas.ethPrice).to.equal(3_000_000_000n)
  })

  it('accepts only one authentication at a facilitator', () => {
    const token = { X402_FACILITATOR_TOKEN: 'a-random-bearer-token' }
    const auth = { X402_FACILITATOR_AUTH: 'auth.mjs' }
    const url = PRODUCTION.X402_FACILITATOR_URL
    const by = (more: object) => readConfig({ ...PRODUCTION, ...more }).production?.facilitator
    expect(by(token)).to.deep.equal({ url, token: 'a-random-bearer-token' })
    expect(by(auth)).to.deep.equal({ url, authModule: resolve('auth.mjs') })
    expect(() => by({ ...token, ...auth })).to.throw(ConfigError, /not both/)
    expect(readConfig({ ...PRODUCTION, ...token }).secrets).to.include('a-random-bearer-token')
  })

  for (const name of Object.keys(PRODUCTION)) {
    it(`refuses production without ${name}, and names only it`, () => {
      const others = Object.keys(PRODUCTION).filter((other) => other !== name)
      const refused = () => readConfig(without(name))
      expect(refused).to.throw(ConfigError, new RegExp(`variables too: ${name}( or [A-Z_]+)*\\.`))
      for (const other of others) expect(refused).not.to.throw(new RegExp(`too:.*${other}`))
    })
  }

  for (const [name, value] of Object.entries({
    RPC_URL: 'http://127.0.0.1:1',
    GAS_WALLET_KEY: GAS_KEY,
  })) {
    it(`explains how to return to the sandbox if only ${name} is set`, () => {
      expect(() => readConfig({ [name]: value })).to.throw(ConfigError, `unset ${name}.`)
    })
  }

  it('allows sandbox hosts in a sandbox only', () => {
    const hosts = { HUB_SANDBOX_HOSTS: 'seller.test=127.0.0.1:4701, b.test=127.0.0.1:4702' }
    expect([...readConfig(hosts).sandboxHosts]).to.deep.equal([
      ['seller.test', 4_701],
      ['b.test', 4_702],
    ])
    expect(() => readConfig({ ...PRODUCTION, ...hosts })).to.throw(ConfigError, /in a sandbox only/)
  })

  for (const entry of ['seller.test=10.0.0.1:80', 'seller.test=127.0.0.1:0', 'x=127.0.0.1:80']) {
    it(`refuses the sandbox host ${entry}`, () => {
      expect(() => readConfig({ HUB_SANDBOX_HOSTS: entry })).to.throw(
        ConfigError,
        /HUB_SANDBOX_HOSTS: not of the form/,
      )
    })
  }

  for (const [name, value] of Object.entries({
    HUB_PORT: '70000',
    HUB_COMMISSION_BPS: '10001',
    HUB_LOG_LEVEL: 'loud',
    HUB_BASE_URL: 'ftp://hub.example',
    DATABASE_URL: 'mysql://db/hub',
    TREASURY_ADDRESS: '0x12',
    HUB_SIGNING_KEY: 'c2VjcmV0',
    HUB_METRICS_TOKEN: 'too-short',
  })) {
    it(`refuses ${name}=${value}, naming the variable`, () => {
      expect(() => readConfig({ [name]: value })).to.throw(ConfigError, new RegExp(`^${name}: `))
    })
  }

  it('accepts administrators in lower case or with a valid checksum only', () => {
    const [one, two] = [`0x${'a'.repeat(40)}`, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913']
    const { admins } = readConfig({ HUB_ADMIN_WALLETS: `${one}, ${two}` })
    expect(admins).to.deep.equal([one, two.toLowerCase()])
    expect(readConfig({}).admins).to.deep.equal([])
    for (const wrong of [two.replace('fC', 'Fc'), `${one},`, `${one}0`]) {
      expect(() => readConfig({ HUB_ADMIN_WALLETS: wrong })).to.throw(/^HUB_ADMIN_WALLETS: not an/)
    }
  })

  it('never repeats a private key in an error message', () => {
    const typo = `${KEY}9`
    expect(() => readConfig({ SPEND_WALLET_KEY: typo })).to.throw(/^(?!.*6b1f)/s)
    const broken = PRODUCTION.HUB_SIGNING_KEY.slice(0, 50)
    expect(() => readConfig({ HUB_SIGNING_KEY: broken })).to.throw(
      new RegExp(`^(?!.*${broken.slice(0, 8)})`, 's'),
    )
  })

  it('counts rate limits in a shared store unless there is only one process', () => {
    const store = (env: NodeJS.ProcessEnv) => readConfig(env).rateStore
    expect(store({})).to.equal('memory')
    expect(store({ HUB_WORKERS: '2' })).to.equal('database')
    expect(store(PRODUCTION), 'there may be other machines').to.equal('database')
    expect(store({ ...PRODUCTION, HUB_RATE_STORE: 'memory' })).to.equal('memory')
    const redisUrl = 'redis://store:6379'
    expect(store({ ...PRODUCTION, REDIS_URL: redisUrl })).to.deep.equal({ redisUrl })
    expect(store({ HUB_RATE_STORE: 'redis', REDIS_URL: 'redis://127.0.0.1' })).to.deep.equal({
      redisUrl: 'redis://127.0.0.1',
    })
    expect(() => store({ HUB_RATE_STORE: 'redis' })).to.throw(/requires REDIS_URL/)
    const wrong = { HUB_RATE_STORE: 'memory', HUB_WORKERS: '2' }
    expect(() => readConfig(wrong)).to.throw(
      ConfigError,
      /HUB_RATE_STORE=memory supports one process/,
    )
  })

  it('delays the drain in production, and not in a sandbox', () => {
    expect(readConfig({}).drain).to.deep.equal({ delaySeconds: 0, graceSeconds: 30 })
    expect(readConfig(PRODUCTION).drain).to.deep.equal({ delaySeconds: 5, graceSeconds: 30 })
  })

  it('accepts a direct connection only together with a pooler', () => {
    const direct = { DATABASE_DIRECT_URL: 'postgres://owner@db/hub' }
    expect(() => readConfig(direct)).to.throw(ConfigError, /DATABASE_URL: set it too/)
    expect(readConfig({ ...PRODUCTION, ...direct }).databaseDirectUrl).to.equal(
      direct.DATABASE_DIRECT_URL,
    )
  })

  it('treats the password of a URL as a secret', () => {
    const { secrets } = readConfig({ DATABASE_URL: 'postgres://hub:a%20long%20one@db/hub' })
    expect(secrets).to.include.members(['a%20long%20one', 'a long one'])
  })

  it('returns plugin secrets by name', () => {
    const { secret } = readConfig({ HUB_SECRET_TENDERS: 's3cret', OTHER: 'no' })
    expect(secret('tenders')).to.equal('s3cret')
    expect(secret('other')).to.equal(undefined)
  })

  it('lists the values that logs must not show, except very short ones', () => {
    const env = {
      ...PRODUCTION,
      GAS_WALLET_KEY: GAS_KEY,
      HUB_SECRET_MAIL: 'hunter22',
      HUB_METRICS_TOKEN: 'a-token-for-metrics',
    }
    const { HUB_BASE_URL: _, TREASURY_ADDRESS: __, ...secret } = PRODUCTION
    expect(readConfig({ ...env, HUB_SECRET_SHORT: 'hunter2' }).secrets).to.have.members([
      ...Object.values(secret),
      env.GAS_WALLET_KEY,
      env.HUB_SECRET_MAIL,
      env.HUB_METRICS_TOKEN,
    ])
  })

  it('accepts a cluster only with a database of its own', () => {
    expect(() => readConfig({ HUB_CLUSTER: 'citus' })).to.throw(
      ConfigError,
      'HUB_CLUSTER: requires DATABASE_URL: the built-in database is one server',
    )
  })

  it('says in plain words what a value must be', () => {
    const wrong = {
      HUB_PORT: 'abc',
      HUB_PROXIES: '1.5',
      HUB_WORKERS: '0',
      HUB_SHARDS: '99',
      HUB_RATE_STORE: 'disk',
      HUB_TAX_RATE: '0.001',
      HUB_GAS_LOW_GWEI: 'x',
      HUB_CHECKPOINTS_MAIL: 'x',
      HUB_PLUGIN_NODE: 'x'.repeat(5_000),
      DATABASE_URL: 'mysql://x',
      REDIS_URL: 'nope',
    }
    expect(() => readConfig(wrong))
      .to.throw(ConfigError)
      .with.property('message')
      .that.satisfies((text: string) => {
        expect(text.split('\n')).to.have.members([
          'HUB_PORT: must be a number',
          'HUB_PROXIES: must be a whole number',
          'HUB_WORKERS: must be at least 1',
          'HUB_SHARDS: must be at most 64',
          'HUB_RATE_STORE: must be memory, database, or redis',
          'HUB_TAX_RATE: must be a multiple of 0.01',
          'HUB_GAS_LOW_GWEI: must be a whole number',
          'HUB_CHECKPOINTS_MAIL: must be an email address',
          'HUB_PLUGIN_NODE: must have a length of at most 4096',
          'DATABASE_URL: must begin with postgres:// or postgresql://',
          'REDIS_URL: must be a URL',
        ])
        return true
      })
  })
})
