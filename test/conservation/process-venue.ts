import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock } from '../../core/clock.ts'
import { createPool } from '../../core/db/pool.ts'
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
import { startChain } from '../../server/sandbox/chain.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund, openWallets, type Wallets } from '../../server/sandbox/wallets.ts'
import { Proxy } from '../faults/rig/proxy.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import type { Disaster } from './faults.ts'
import { KilledHub } from './killed.ts'
import type { Outside, Venue } from './venue.ts'

const SHARDS = 2
/** More than one, so that payments are seen before they are final. */
const FINALITY = 3
const SPEND_MICROS = micros(500_000_000)
const GAS_WEI = 100n * 10n ** 18n
/** A node that does not answer: longer than the hub waits for it. */
const FROZEN_MS = 6_500

const { network } = USDC_BASE

/**
 * A hub in a process of its own, whose chain, database and facilitator live on when it is killed.
 * It is killed with all that it had not written down, loses its connections to the database, and
 * meets a node that does not answer.
 */
export async function inItsOwnProcess(outside: Outside): Promise<Venue> {
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
    const hub = new KilledHub({
      databaseUrl: proxy.through(database.url),
      dataDir,
      rpcUrl: chain.rpcUrl,
      treasury: wallets.treasury.account.address,
      spendKey: wallets.spend.key,
      gasKey: wallets.gas.key,
      finality: FINALITY,
      hosts: [...outside.hosts],
      serviceUrl: outside.serviceUrl,
    })
    const parts = await beside(database, wallets, chain.rpcUrl)
    stops.push(parts.close)
    stops.push(() => hub.kill())
    await hub.start() // its jobs look at the books, which have their opening by now
    const disasters = disastersOf(hub, proxy, chain.pid)
    return { ...parts.venue, url: () => hub.url, disasters, faults: () => hub.faults, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const disastersOf = (hub: KilledHub, proxy: Proxy, node: number): readonly Disaster[] => [
  ...Array.from({ length: 3 }, () => ({
    name: 'kill -9 of the hub',
    strike: async () => {
      await hub.kill()
      await hub.start()
    },
  })),
  { name: 'connections to the database cut', strike: async () => proxy.cut() },
  {
    name: 'a node that does not answer',
    strike: async () => {
      process.kill(node, 'SIGSTOP')
      await sleep(FROZEN_MS)
      process.kill(node, 'SIGCONT')
    },
  },
]

/** What this process needs to see the same books and chain, and to resolve payments. */
async function beside(database: FreshDatabase, wallets: Wallets, rpcUrl: string) {
  const { pool, admin } = database
  const books = createPool(database.url, { max: 4, role: 'hub_app' })
  const ledger = new Ledger(books, { shards: await openShards(pool, SHARDS) })
  const chain = openChain({ rpcUrl, network })
  const owner = await ledger.account(SPEND)
  const { number } = await chain.head()
  const event = { type: 'balance.opened', account: SPEND, amount: SPEND_MICROS } as const
  const id = uuidv7(systemClock.now().getTime())
  await ledger.post(event, { owner, id, meta: { block: String(number) } })
  const { gas, spend, treasury } = wallets
  const venue = {
    rpcUrl,
    pool,
    admin,
    ports: {
      ledger,
      chain,
      claims: new Claims(pool, systemClock),
      intents: new Intents(pool),
      clock: systemClock,
      log: createLog('silent'),
      asset: USDC_BASE,
      finality: BigInt(FINALITY),
    },
    wallets: { treasury: treasury.account.address, spend: spend.account.address },
    spend: spend.account,
    gas: localFacilitator({ rpcUrl, key: gas.key, network }).gas,
  }
  return { venue, close: () => books.end() }
}
