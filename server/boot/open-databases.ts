import type { Pool } from 'pg'
import { openShardConnections } from '../../core/db/citus/shard-connections.ts'
import { openDatabaseClock } from '../../core/db/clock.ts'
import { createPool, type PoolOptions } from '../../core/db/pool.ts'
import { ProcessLease } from '../../core/db/process-lease.ts'
import {
  type RecentReads,
  type ReplicaDeps,
  ReplicaReads,
  readPrimary,
} from '../../core/db/recent-reads.ts'
import { openShards } from '../../core/identity/shards.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { walletOf } from '../../core/ledger/postings.ts'
import { logFailure, outagesOf } from '../../core/outages.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { componentOn } from '../../core/payments/networks.ts'
import type { Meters } from '../observability/meters.ts'
import type { HubOptions } from './options.ts'

/** Query timeout: longer than a caller waits for any query, unless the database is unreachable. */
const DATABASE_TIMEOUT_MS = 20_000

/** Checks components while they fail. The hub's own facilitator needs only the node. */
function addChecks({ money, log }: HubOptions, pool: Pool): () => void {
  const { chain, facilitator, gas, networks } = money
  const readHead = () => chain.head()
  const outages = outagesOf(log)
  const checks = [
    outages.addCheck('database', () => pool.query('SELECT')),
    outages.addCheck('blockchain node', readHead),
    outages.addCheck('facilitator', gas ? readHead : () => facilitator.getSupported()),
    ...networks.flatMap(({ asset: { network }, ...parts }) => [
      outages.addCheck(componentOn('blockchain node', network), () => parts.chain.head()),
      outages.addCheck(componentOn('facilitator', network), () => parts.facilitator.getSupported()),
    ]),
  ]
  return () => checks.forEach((remove) => remove())
}

/**
 * Connections of pages and REST, which read much at once. More would not make them faster: each
 * query that starts takes the processor from those that run. Calls do not wait for them.
 */
const PAGE_CONNECTIONS = 6
/** Connections of the ledger beside the two of each shard for batches. */
const LEDGER_READS = 4
/** Batches of many shards share these: PostgreSQL accepts 100 connections by default. */
const LEDGER_CONNECTIONS_MAX = 32

/** Opens the connections of a hub, its ledger and its lease. @param scope closes them */
export async function openDatabases(
  options: HubOptions,
  meters: Meters,
  scope: AsyncDisposableStack,
) {
  const { databaseUrl, databaseDirectUrl, financeUrl, log } = options
  const onError = (err: Error) =>
    logFailure(log, 'warn', { err, component: 'database' }, 'database connection lost')
  const pooled = databaseDirectUrl !== undefined
  const responseMs = DATABASE_TIMEOUT_MS
  const shared = { responseMs, onError } satisfies PoolOptions
  const app = { role: 'hub_app', isShort: true, pooled, ...shared } as const
  const pool = createPool(databaseUrl, { max: 20, maxAtFirst: 3, ...app })
  scope.defer(() => pool.end())
  const pagePool = createPool(databaseUrl, { max: PAGE_CONNECTIONS, maxAtFirst: 3, ...app })
  scope.defer(() => pagePool.end())
  await pool.query('SELECT ledger.ensure_partitions()')
  const shards = await openShards(pool, options.shards)
  const finance = { role: 'hub_finance', ...shared } as const
  const max = Math.min(2 * shards + LEDGER_READS, LEDGER_CONNECTIONS_MAX)
  const ledgerConnections = { max, maxAtFirst: 2, ...finance } as const
  const ledgerPool = createPool(financeUrl, ledgerConnections)
  // Separate from the ledger's connections, for which its transactions wait.
  const financePool = createPool(financeUrl, { max: 4, maxAtFirst: 2, ...finance })
  scope.defer(async () => void (await Promise.all([ledgerPool, financePool].map(endPool))))
  meters.watchPools({ hub: pool, pages: pagePool, ledger: ledgerPool })
  const workers = await openShardConnections(ledgerPool, ledgerConnections)
  scope.defer(async () => workers?.close())
  const ledger = new Ledger(ledgerPool, {
    databaseOf: workers && ((shard) => workers.databaseOf(shard)),
    onBatch: (operations) => meters.recordBatch(operations),
  })
  await openNetworkAccounts(pool, ledger, options)
  const databaseClock = await openDatabaseClock(pool, log)
  scope.defer(() => databaseClock.close())
  const lease = await ProcessLease.open(pool)
  scope.defer(() => lease.close())
  scope.defer(addChecks(options, pool))
  const primary = { primary: pagePool, leaseId: lease.id, clock: databaseClock, log }
  const recentReads = openRecentReads(options, primary, scope)
  return { pool, pagePool, recentReads, lease, financePool, ledger, databaseClock }
}

/** Opens the replica, if there is one. */
function openRecentReads(
  { replica }: HubOptions,
  deps: ReplicaDeps,
  scope: AsyncDisposableStack,
): RecentReads {
  if (!replica) return readPrimary(deps.primary)
  const reads = new ReplicaReads(replica, deps)
  scope.defer(() => reads.close())
  return reads
}

/** Opens the accounts of further networks, and reports payments on networks that were removed. */
async function openNetworkAccounts(
  pool: Pool,
  ledger: Ledger,
  { money: { networks }, log }: HubOptions,
): Promise<void> {
  for (const { asset } of networks) {
    await ledger.open(walletOf('in-transit', asset.v1Network), 'USDC')
    await ledger.open(walletOf('treasury', asset.v1Network), 'USDC')
  }
  const { rows } = await pool.query<{ network: string }>(
    `SELECT DISTINCT network FROM hub.payment_claim
     WHERE state IN ('claimed', 'pending', 'settled') AND network <> ALL ($1)`,
    [[USDC_BASE.network, ...networks.map(({ asset }) => asset.network)]],
  )
  for (const { network } of rows)
    log.error({ network }, 'payments stay open: HUB_X402_NETWORKS omits their network')
}

const endPool = (pool: Pool): Promise<void> => pool.end()
