import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { readConfig } from '../../../core/config.ts'
import { createLog } from '../../../core/log.ts'
import { startJobs } from '../../../jobs/index.ts'
import { startHub } from '../../../server/boot/start.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { FAILURE_MODES, FaultProxy } from '../../support/fault-proxy.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { REAL_MONEY } from './real-money.ts'

const SIGNER_ADDRESS = privateKeyToAddress(generatePrivateKey())

interface Dependency {
  /** Settings with which a hub uses the dependency at a port. */
  readonly settings: (port: number, databaseUrl: string) => Readonly<Record<string, string>>
  /** Message of the failure; undefined: the hub starts without the dependency. */
  readonly message?: RegExp
}

const throughPort = (url: string, port: number): string => {
  const other = new URL(url)
  other.port = String(port)
  return other.href
}

const DEPENDENCIES: Readonly<Record<string, Dependency>> = {
  database: {
    settings: (port, url) => ({ DATABASE_URL: throughPort(url, port) }),
    message: /^The database cannot be reached: .*127\.0\.0\.1:\d+/,
  },
  'connection pooler': {
    settings: (port, url) => ({
      DATABASE_URL: throughPort(url, port),
      DATABASE_DIRECT_URL: url,
    }),
    message: /^The database cannot be reached: .*127\.0\.0\.1:\d+/,
  },
  facilitator: {
    settings: (port) => ({ GAS_WALLET_KEY: '', X402_FACILITATOR_URL: `http://127.0.0.1:${port}` }),
    message: /^X402_FACILITATOR_URL \(127\.0\.0\.1:\d+\): .*Start again when it works/s,
  },
  'remote signer': {
    settings: (port) => ({
      SPEND_WALLET_KEY: '',
      SPEND_WALLET_SIGNER: `http://127.0.0.1:${port}`,
      SPEND_WALLET_ADDRESS: SIGNER_ADDRESS,
    }),
    message: /^SPEND_WALLET_SIGNER cannot be used: ./,
  },
  node: { settings: (port) => ({ RPC_URL: `http://127.0.0.1:${port}` }) },
  Redis: { settings: (port) => ({ REDIS_URL: `redis://127.0.0.1:${port}` }) },
  'mail server': {
    settings: (port) => ({ SMTP_URL: `smtp://127.0.0.1:${port}` }),
  },
  'collector of traces': {
    settings: (port) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    }),
  },
  'embeddings engine': {
    settings: (port) => ({
      HUB_EMBEDDINGS_URL: `http://127.0.0.1:${port}/v1`,
      HUB_EMBEDDINGS_MODEL: 'one',
    }),
  },
}

describe('a hub with real money at its start', () => {
  realSockets()
  let database: FreshDatabase
  let dataDir: string
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop()) // fails if a connection is left
  after(() => rm(dataDir, { recursive: true, force: true }))

  const start = (settings: Readonly<Record<string, string>>) => {
    const env = { ...REAL_MONEY, DATABASE_URL: database.url, ...settings }
    return startHub({
      config: { ...readConfig(env), dataDir },
      loadParts: async () => ({ plugins: [], privileged: [], startJobs }),
      log: createLog('silent'),
      servers: { open: () => {}, listen: async () => 0 },
    })
  }
  const startWithout = async (
    { settings, message }: Dependency,
    mode: (typeof FAILURE_MODES)[number],
  ): Promise<void> => {
    const proxy = await FaultProxy.start(Number(new URL(database.url).port))
    await proxy.fail(mode)
    try {
      const outcome = await start(settings(proxy.port, database.url)).then(
        (running) => running.stop(),
        (error: Error) => error,
      )
      if (message) expect(outcome, mode).to.have.property('name', 'ConfigError')
      expect(outcome?.message ?? '', mode).to.match(message ?? /^$/)
    } finally {
      await proxy.close()
    }
  }

  for (const [name, dependency] of Object.entries(DEPENDENCIES)) {
    const isNeeded = dependency.message !== undefined
    const what = isNeeded ? 'names what it needs and leaves nothing behind' : 'starts without its'
    // A start that succeeds costs much more than one that fails.
    const modes = isNeeded ? FAILURE_MODES : (['refuses', 'hangs'] as const)
    it(`${what}: ${name}`, async () => {
      await Promise.all(modes.map((mode) => startWithout(dependency, mode)))
    })
  }
})
