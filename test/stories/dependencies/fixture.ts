import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import nock from 'nock'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { readConfig } from '../../../core/config.ts'
import type { LoginOptions } from '../../../core/db/logins.ts'
import { createLog } from '../../../core/log.ts'
import { usd } from '../../../core/money.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { chainVerified } from '../../../core/payments/facilitators/chain-verified.ts'
import { httpFacilitator } from '../../../core/payments/facilitators/http.ts'
import { awsKmsSigner } from '../../../core/payments/wallets/aws-kms.ts'
import { remoteAccount } from '../../../core/payments/wallets/remote-account.ts'
import { web3Signer } from '../../../core/payments/wallets/web3signer.ts'
import { startJobs } from '../../../jobs/index.ts'
import type { JobDeps } from '../../../jobs/job.ts'
import { plugins, privileged } from '../../../plugins/index.ts'
import { prepareSandbox } from '../../../server/boot/prepare-sandbox.ts'
import { startHub } from '../../../server/boot/start.ts'
import { startSandbox } from '../../../server/sandbox/start.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { LOOSE_RULES } from '../../core/payments/payouts/fixture.ts'
import { serveKms, serveWeb3Signer } from '../../core/payments/wallets/signer-servers.ts'
import { openSecondHub } from '../../server/rest/finance/fixture.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { type FailureMode, FaultProxy } from '../../support/fault-proxy.ts'
import { postCredits, registerWallet } from '../../support/funded-agent.ts'
import { openMailbox } from '../../support/mailbox.ts'
import { freshDatabase, TEST_CLUSTER } from '../../support/postgres.ts'
import { openReceiver } from '../../support/receiver.ts'
import { redisProgram, startRedis } from '../../support/redis.ts'
import { countingService, resetWork } from '../counted-service.ts'
import { serveEmbeddings, serveFacilitator, serveIndex } from './servers.ts'

/** Services outside of the process that a hub uses. */
export const DEPENDENCIES = [
  'node',
  'facilitator',
  'seller',
  'signer',
  'redis',
  'database',
  'mail',
  'webhook',
  'embeddings',
  'traces',
  'index',
] as const
export type Dependency = (typeof DEPENDENCIES)[number]

export type Fixture = Awaited<ReturnType<typeof openFixture>>

const REMOTE_TIMEOUT_MS = 500

/** Price of a page that the hub has fetched before. */
export const CACHED_PAGE_PRICE: bigint = usd('0.002')
/** Amount that a provider is owed to be paid out at once. */
export const PAYOUT: bigint = usd('1')
const PROMPT_PAYOUTS = { rules: LOOSE_RULES, minimum: usd('1') }

/** Kinds of remote signers. */
export const SIGNERS = {
  web3signer: {
    serve: serveWeb3Signer,
    open: (url: string) => web3Signer({ url, timeoutMs: REMOTE_TIMEOUT_MS }),
  },
  kms: {
    serve: serveKms,
    open: (url: string) => {
      Object.assign(process.env, AWS, { AWS_ENDPOINT_URL_KMS: url })
      return awsKmsSigner({ keyId: 'alias/spend', timeoutMs: REMOTE_TIMEOUT_MS })
    },
  },
} as const
export type SignerKind = keyof typeof SIGNERS

const AWS = {
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_EC2_METADATA_DISABLED: 'true',
}

/** Process of the local chain of a data directory. */
const chainOf = async (dataDir: string): Promise<number> =>
  Number.parseInt(await readFile(join(dataDir, 'chain/chain.pid'), 'utf8'), 10)

function restoreEnvironment(scope: AsyncDisposableStack): void {
  const environment = { ...process.env }
  scope.defer(() => {
    for (const name of [...Object.keys(AWS), 'AWS_ENDPOINT_URL_KMS']) {
      if (environment[name] === undefined) delete process.env[name]
      else process.env[name] = environment[name]
    }
  })
}

/**
 * Two hubs on one database, each of whose dependencies can be made to fail. The first settles
 * payments and signs by itself and runs the jobs; the second has a remote facilitator and signer.
 */
export async function openFixture(signer: SignerKind) {
  nock.restore()
  resetWork()
  const lines: string[] = []
  const log = createLog('warn', { write: (line) => lines.push(line) })
  await using scope = new AsyncDisposableStack()
  const unhandled = watchUnhandled(scope)
  restoreEnvironment(scope)
  const database = await freshDatabase()
  scope.defer(() => database.drop())
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  scope.defer(() => rm(dataDir, { recursive: true, force: true }))
  const logins: LoginOptions = { url: database.url, cluster: TEST_CLUSTER }
  const sandbox = await startSandbox({ dataDir, logins, log })
  scope.defer(() => sandbox.stop())
  const servers = await openServers(scope, sandbox, signer)
  const chain = await chainOf(dataDir)
  const proxies = await openProxies(scope, {
    ...servers.ports,
    node: Number(new URL(sandbox.rpcUrl).port),
    seller: sandbox.sellerPort,
    database: Number(new URL(database.url).port),
  })
  const at = (name: Dependency): string => `127.0.0.1:${proxies[name].port}`
  const through = new URL(database.url)
  through.port = String(proxies.database.port)
  const env = {
    SMTP_URL: `smtp://${at('mail')}`,
    REDIS_URL: `redis://${at('redis')}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${at('traces')}`,
    HUB_EMBEDDINGS_URL: `http://${at('embeddings')}/v1`,
    HUB_EMBEDDINGS_MODEL: 'one',
    HUB_INDEXES: 'one=http://index.test/resources',
    HUB_SANDBOX_HOSTS: `receiver.test=${at('webhook')},index.test=${at('index')}`,
  }
  const config = { ...readConfig(env), dataDir, port: 0, databaseUrl: through.href }
  let deps: JobDeps | undefined
  let isNodeStopped = false
  const running = await startHub({
    config,
    loadParts: async () => ({
      plugins: [...plugins, countingService],
      privileged,
      startJobs: (url, given) => startJobs(url, (deps = given)),
    }),
    log,
    sandboxPlace: {
      ...sandbox,
      logins: { ...logins, url: through.href },
      rpcUrl: `http://${at('node')}`,
      sellerPort: proxies.seller.port,
    },
  })
  scope.defer(() => running.stop())
  const payouts = { ...deps!.payouts!, pool: running.hub.financePool, ...PROMPT_PAYOUTS }
  const jobDeps = { ...deps!, payouts }
  await prepareSandbox(sandbox, running.hub, payouts, log)
  const { money, wallets, hosts } = sandbox
  const service = httpFacilitator({
    url: `http://${at('facilitator')}`,
    timeoutMs: REMOTE_TIMEOUT_MS,
  })
  const remote = await openSecondHub(
    { sandbox, databaseUrl: database.url, dataDir },
    {
      sandboxHosts: hosts,
      plugins: [countingService],
      spend: remoteAccount(
        wallets.spend.account.address,
        SIGNERS[signer].open(`http://${at('signer')}`),
      ),
      facilitator: chainVerified(service, {
        chain: money.chain,
        asset: USDC_BASE,
        name: 'remote',
        log,
        searchMs: REMOTE_TIMEOUT_MS,
      }),
    },
  )
  scope.defer(() => remote.close())
  const eve = privateKeyToAccount(generatePrivateKey())
  await fund(sandbox.rpcUrl, eve.address, { usdc: usd('500') })
  const agent = await registerWallet(running.url)
  const poor = await registerWallet(running.url)
  await postCredits(running.hub.ledger, agent.keyId, usd('50'))
  const { body } = await ask(running.url, '/v1/webhooks', {
    key: agent.apiKey,
    body: { url: 'http://receiver.test/hook', events: ['balance.low'] },
  })
  const pagePath = `/proxy/magazine/fetch?url=${encodeURIComponent(sandbox.pageUrl)}`
  await eventually(async () => {
    return (await ask(running.url, pagePath, { key: agent.apiKey })).status === 200 // now cached
  })
  const opened = scope.move()
  return {
    ...servers,
    database,
    sandbox,
    running,
    remote,
    proxies,
    unhandled,
    eve,
    agent,
    /** Agent without credits. */
    poor,
    jobDeps,
    pagePath,
    /** Logged warnings and errors. */
    lines,
    /** Makes a dependency fail, or work again. A node that hangs is a process that is stopped. */
    async fail(name: Dependency, mode: FailureMode | undefined): Promise<void> {
      const wasStopped = isNodeStopped && name === 'node'
      const isStopped = mode === 'hangs' && name === 'node'
      if (name === 'node') {
        process.kill(chain, isStopped ? 'SIGSTOP' : 'SIGCONT')
        isNodeStopped = isStopped
      }
      if (!isStopped && !wasStopped) await proxies[name].fail(mode)
    },
    hookId: String(body['webhook_id']),
    async close(): Promise<void> {
      process.kill(chain, 'SIGCONT')
      await heal(proxies)
      await opened.disposeAsync()
      nock.activate()
    },
  }
}

const heal = async (proxies: Fixture['proxies']): Promise<void> =>
  void (await Promise.all(Object.values(proxies).map((proxy) => proxy.fail(undefined))))

function watchUnhandled(scope: AsyncDisposableStack): unknown[] {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note).on('uncaughtExceptionMonitor', note)
  scope.defer(() => {
    process.off('unhandledRejection', note).off('uncaughtExceptionMonitor', note)
  })
  return unhandled
}

type Sandbox = Awaited<ReturnType<typeof startSandbox>>

async function openServers(
  scope: AsyncDisposableStack,
  { money, wallets }: Sandbox,
  kind: SignerKind,
) {
  const [facilitator, embeddings, index] = await Promise.all([
    serveFacilitator(money.facilitator),
    serveEmbeddings(),
    serveIndex(),
  ])
  const signer = await SIGNERS[kind].serve(wallets.spend.key)
  for (const each of [facilitator, embeddings, index, signer]) scope.defer(() => each.close())
  const [receiver, mailbox] = await Promise.all([openReceiver(), openMailbox()])
  scope.defer(() => receiver.close())
  scope.defer(() => mailbox.close())
  const redis = redisProgram() === undefined ? undefined : await startRedis()
  scope.defer(() => redis?.kill())
  const portOf = (url: string): number => Number(new URL(url).port)
  const ports = {
    facilitator: facilitator.port,
    embeddings: embeddings.port,
    index: index.port,
    signer: portOf(signer.url),
    webhook: receiver.port,
    traces: receiver.port,
    mail: portOf(mailbox.url),
    redis: redis ? portOf(redis.url) : receiver.port,
  }
  return { receiver, mailbox, ports }
}

async function openProxies(
  scope: AsyncDisposableStack,
  ports: Readonly<Record<Dependency, number>>,
): Promise<Readonly<Record<Dependency, FaultProxy>>> {
  const opened = Object.entries(ports).map(async ([name, port]) => {
    // A seller whose offer is cut is never paid: only the response to a payment is.
    const options = name === 'seller' ? { cuts: /\bpayment-signature:/i } : {}
    const proxy = await FaultProxy.start(port, options)
    scope.defer(() => proxy.close())
    return [name, proxy] as const
  })
  return Object.fromEntries(await Promise.all(opened)) as Record<Dependency, FaultProxy>
}
