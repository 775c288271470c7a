import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { elapsedMs, sleep, systemClock } from '../../../core/clock.ts'
import { openLogins } from '../../../core/db/logins.ts'
import { createPool } from '../../../core/db/pool.ts'
import { openShards } from '../../../core/identity/shards.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { SPEND } from '../../../core/ledger/postings.ts'
import { micros } from '../../../core/money.ts'
import { type Asset, assetOf, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { type SandboxChain, startChain } from '../../../server/sandbox/chain.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { fund, openWallets, type Wallets } from '../../../server/sandbox/wallets.ts'
import { Counters } from '../../conservation/counters.ts'
import { fundedFacilitator } from '../../conservation/foreign-facilitator.ts'
import { RestartableProgram } from '../../conservation/kill-restart.ts'
import { Market } from '../../conservation/market.ts'
import type { Random } from '../../conservation/random.ts'
import { COMPILED_CODE } from '../../support/compiled-code.ts'
import { type Mailbox, openMailbox } from '../../support/mailbox.ts'
import { openReceiver, type Receiver } from '../../support/receiver.ts'
import { redisProgram, startRedis } from '../../support/redis.ts'
import { Cluster } from '../rig/cluster.ts'
import { Proxy } from '../rig/proxy.ts'
import type { RecoveryHubOptions } from './hub-program.ts'
import { type RailSellers, startRailSellers } from './rail-sellers.ts'

const PROGRAM = new URL('./hub-process.ts', import.meta.url)
const SHARDS = 2
const SPEND_MICROS = micros(500_000_000)
const GAS_WEI = 100n * 10n ** 18n
const START_MS = 300_000
const RETRY_MS = 100
export const WEBHOOK_HOST = 'notices.test'

/** Hub with two workers, its jobs in another process, and everything that they depend on. */
export interface Deployment {
  readonly url: string
  readonly rpcUrl: string
  readonly cluster: Cluster
  readonly chain: RestartableChain
  /** Chain of `SECOND`, a further network on which callers can pay. */
  readonly secondChain: RestartableChain
  readonly hub: RestartableProgram
  readonly jobs: RestartableProgram
  readonly wallets: Wallets
  readonly market: Market
  readonly railSellers: RailSellers
  readonly mailbox: Mailbox
  readonly receiver: Receiver
  /** Proxies in front of the mail server, the receiver, and Redis, if it is installed. */
  readonly mailProxy: Proxy
  readonly webhookProxy: Proxy
  readonly redisProxy: Proxy | undefined
  readonly stop: () => Promise<void>
}

/** Chain whose restarts continue with the same state on the same port. */
interface RestartableChain {
  readonly rpcUrl: string
  process: SandboxChain
  restart(): Promise<void>
}

/** Token of the second network. */
export const SECOND = assetOf('eip155:137')

type Stops = (() => Promise<unknown>)[]

export async function startDeployment(random: Random): Promise<Deployment> {
  const stops: Stops = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const dependencies = await startDependencies(stops, random)
    const { cluster, wallets, secondChain } = dependencies
    const { rpcUrl } = dependencies.chain
    const place = {
      logins: { url: cluster.url },
      rpcUrl,
      sellerPort: 9,
      magazinePort: 9,
      networks: [{ network: SECOND.network, rpcUrl: secondChain.rpcUrl }],
    }
    await prepareLedger(cluster.url, rpcUrl)
    const port = await freePort()
    const env = hubEnvironment(dependencies, port)
    const options = (mode: RecoveryHubOptions['mode']): RecoveryHubOptions => ({ mode, place })
    const hub = new RestartableProgram(PROGRAM, options('serve'), env)
    stops.push(() => hub.kill())
    const jobs = new RestartableProgram(PROGRAM, options('jobs'), env)
    stops.push(() => jobs.kill())
    await Promise.all([hub.start(), jobs.start()])
    dependencies.market.open(await fundedFacilitator(rpcUrl), [
      wallets.treasury.account.address,
      wallets.spend.account.address,
    ])
    return { ...dependencies, url: `http://127.0.0.1:${port}`, rpcUrl, hub, jobs, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startDependencies(stops: Stops, random: Random) {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-faults-'))
  stops.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }))
  const cluster = await Cluster.create()
  stops.push(() => cluster.remove())
  await cluster.start()
  const chain = await startRestartableChain(join(dataDir, 'chain'), USDC_BASE)
  stops.push(() => chain.process.stop())
  const secondChain = await startRestartableChain(join(dataDir, 'second-chain'), SECOND)
  stops.push(() => secondChain.process.stop())
  const wallets = await openWallets(dataDir)
  const { rpcUrl } = chain
  await fund(rpcUrl, wallets.spend.account.address, { usdc: SPEND_MICROS })
  for (const each of [chain, secondChain])
    await fund(each.rpcUrl, wallets.gas.account.address, { wei: GAS_WEI })
  const mailbox = await openMailbox()
  stops.push(() => mailbox.close())
  const mailProxy = await Proxy.open(Number(new URL(mailbox.url).port))
  stops.push(() => mailProxy.close())
  const redis = redisProgram() === undefined ? undefined : await startRedis()
  stops.push(async () => redis?.kill())
  const redisProxy = redis && (await Proxy.open(Number(new URL(redis.url).port)))
  stops.push(async () => redisProxy?.close())
  const receiver = await openReceiver()
  stops.push(() => receiver.close())
  const webhookProxy = await Proxy.open(receiver.port)
  stops.push(() => webhookProxy.close())
  const market = await Market.start(random.fork('market'), new Counters())
  stops.push(() => market.close())
  const railSellers = await startRailSellers(rpcUrl)
  stops.push(() => railSellers.close())
  const outside = { mailbox, receiver, market, railSellers, mailProxy, redisProxy, webhookProxy }
  return { dataDir, cluster, chain, secondChain, wallets, ...outside }
}

async function startRestartableChain(dataDir: string, asset: Asset): Promise<RestartableChain> {
  const first = await startChain({ dataDir, port: 0, asset })
  const { rpcUrl } = first
  const port = Number(new URL(rpcUrl).port)
  const chain: RestartableChain = {
    rpcUrl,
    process: first,
    async restart() {
      await chain.process.stop()
      chain.process = await startChain({ dataDir, port, asset })
    },
  }
  return chain
}

/** Migrates the database, and posts the opening balance of the spend wallet. */
async function prepareLedger(databaseUrl: string, rpcUrl: string): Promise<void> {
  const { financeUrl } = await openLogins({ url: databaseUrl })
  const pool = createPool(financeUrl, { max: 2, role: 'hub_finance' })
  try {
    await openShards(pool, SHARDS)
    const ledger = new Ledger(pool)
    const owner = await ledger.account(SPEND)
    const event = { type: 'balance.opened', account: SPEND, amount: SPEND_MICROS } as const
    const block = String(Number(await callRpc(rpcUrl, 'eth_blockNumber', [])))
    const id = uuidv7(systemClock.now().getTime())
    await ledger.post(event, { owner, id, meta: { block } })
  } finally {
    await pool.end()
  }
}

type Dependencies = Awaited<ReturnType<typeof startDependencies>>

function hubEnvironment(
  dependencies: Dependencies,
  port: number,
): Readonly<Record<string, string>> {
  const { dataDir, cluster, mailbox, mailProxy, redisProxy, webhookProxy } = dependencies
  const { market, railSellers } = dependencies
  const hosts = [...market.hosts, ...railSellers.hosts, [WEBHOOK_HOST, webhookProxy.port] as const]
  return {
    HUB_DATA_DIR: dataDir,
    NODE_COMPILE_CACHE: COMPILED_CODE,
    HUB_PORT: String(port),
    DATABASE_URL: cluster.url,
    HUB_WORKERS: '2',
    HUB_JOBS: 'off',
    HUB_PROXIES: '1',
    HUB_LOG_LEVEL: 'error',
    HUB_SANDBOX_HOSTS: hosts.map(([name, at]) => `${name}=127.0.0.1:${at}`).join(','),
    SMTP_URL: mailProxy.through(mailbox.url),
    ...(redisProxy && { REDIS_URL: `redis://127.0.0.1:${redisProxy.port}` }),
  }
}

/** Starts a killed program again, as a supervisor does: until it stays up. */
export async function startAgain(program: RestartableProgram): Promise<void> {
  for (const deadline = elapsedMs() + START_MS; ; await sleep(RETRY_MS)) {
    const failure = await program.start().catch((error: Error) => error)
    if (!failure) return
    if (elapsedMs() > deadline) throw failure
  }
}
