import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
import { ProcessLease } from '../../core/db/process-lease.ts'
import { openShards } from '../../core/identity/shards.ts'
import { uuidv7 } from '../../core/ids.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { SPEND } from '../../core/ledger/postings.ts'
import { createLog } from '../../core/log.ts'
import { micros } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import { Intents } from '../../core/payments/paying/intents.ts'
import { Claims } from '../../core/payments/receiving/claims.ts'
import { Deposits } from '../../core/payments/receiving/deposits.ts'
import { startChain } from '../../server/sandbox/chain.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund, openWallets, type Wallets } from '../../server/sandbox/wallets.ts'
import { Proxy } from '../faults/rig/proxy.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import type { Fault } from './faults.ts'
import type { ExternalEndpoints, HubEnvironment } from './hub-environment.ts'
import type { HubProcessOptions } from './hub-process.ts'
import { RestartableProgram } from './kill-restart.ts'

const PROGRAM = new URL('./hub-process.ts', import.meta.url)
const SHARDS = 2
/** Blocks until a payment is final; more than one, so that payments are seen before. */
const FINALITY = 3
const SPEND_MICROS = micros(500_000_000)
const GAS_WEI = 100n * 10n ** 18n
/** Duration of an unresponsive node; longer than the hub's RPC timeout. */
const FROZEN_MS = 6_500

const { network } = USDC_BASE

/**
 * Starts a hub in a child process whose chain, database and foreign facilitator outlive it. Its
 * faults are kills with SIGKILL, lost database connections and an unresponsive node.
 */
export async function startInChildProcess(endpoints: ExternalEndpoints): Promise<HubEnvironment> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-faults-'))
    stops.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }))
    const chain = await startChain({ dataDir: join(dataDir, 'chain'), port: 0 })
    stops.push(() => chain.stop())
    const database = await freshDatabase()
    stops.push(() => database.drop())
    const proxy = await Proxy.open(Number(new URL(database.url).port))
    stops.push(() => proxy.close())
    const wallets = await openWallets(dataDir)
    await fund(chain.rpcUrl, wallets.spend.account.address, { usdc: SPEND_MICROS })
    await fund(chain.rpcUrl, wallets.gas.account.address, { wei: GAS_WEI })
    const final = `0x${(2 * FINALITY).toString(16)}`
    await callRpc(chain.rpcUrl, 'anvil_mine', [final])
    const options: HubProcessOptions = {
      databaseUrl: proxy.through(database.url),
      dataDir,
      rpcUrl: chain.rpcUrl,
      treasury: wallets.treasury.account.address,
      spendKey: wallets.spend.key,
      gasKey: wallets.gas.key,
      finality: FINALITY,
      hosts: [...endpoints.hosts],
      facilitatorUrl: endpoints.facilitatorUrl,
    }
    const hub = new RestartableProgram(PROGRAM, options)
    const opened = await openForTests(database, wallets, chain.rpcUrl)
    stops.push(opened.close)
    stops.push(() => hub.kill())
    await hub.start() // its jobs read the ledger, which has its opening balance by now
    const hubFaults = hubFaultsOf(hub, proxy, chain.pid)
    return { ...opened.environment, url: () => hub.url, hubFaults, errors: () => hub.errors, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const hubFaultsOf = (hub: RestartableProgram, proxy: Proxy, node: number): readonly Fault[] => [
  ...Array.from({ length: 3 }, () => ({
    name: 'kill -9 of the hub',
    inject: async () => {
      await hub.kill()
      await hub.start()
    },
  })),
  { name: 'database connections lost', inject: async () => proxy.cut() },
  {
    name: 'unresponsive node',
    inject: async () => {
      process.kill(node, 'SIGSTOP')
      await sleep(FROZEN_MS)
      process.kill(node, 'SIGCONT')
    },
  },
]

/** Opens what this process needs to read the same ledger and chain and to resolve payments. */
async function openForTests(database: FreshDatabase, wallets: Wallets, rpcUrl: string) {
  const { pool, admin } = database
  const ledgerPool = createPool(database.url, { max: 4, role: 'hub_finance' })
  await openShards(pool, SHARDS)
  const ledger = new Ledger(ledgerPool)
  const chain = openChain({ rpcUrl, network })
  const owner = await ledger.account(SPEND)
  const { number } = await chain.head()
  const event = { type: 'balance.opened', account: SPEND, amount: SPEND_MICROS } as const
  const id = uuidv7(systemClock.now().getTime())
  await ledger.post(event, { owner, id, meta: { block: String(number) } })
  const { gas, spend, treasury } = wallets
  const environment = {
    rpcUrl,
    pool,
    admin,
    deps: {
      ledger,
      chain,
      claims: new Claims(pool, systemClock, await ProcessLease.open(pool)),
      intents: new Intents(pool),
      deposits: new Deposits(ledgerPool, ledger),
      clock: systemClock,
      log: createLog('silent'),
      asset: USDC_BASE,
      finality: BigInt(FINALITY),
    },
    wallets: { treasury: treasury.account.address, spend: spend.account.address },
    spend: spend.account,
    gas: localFacilitator({ rpcUrl, key: gas.key, network }).gas,
  }
  return { environment, close: () => ledgerPool.end() }
}
