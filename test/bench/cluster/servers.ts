import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { rebalance } from '../../../core/db/citus/change-cluster.ts'
import { readClusterStatus } from '../../../core/db/citus/cluster-status.ts'
import { openLogins } from '../../../core/db/logins.ts'
import { migrate } from '../../../core/db/migrate.ts'
import { databaseUrl } from '../../../core/db/open.ts'
import { createPool } from '../../../core/db/pool.ts'
import { CITUS_VERSION, startCitus } from '../../support/citus.ts'
import { startServerOf } from '../../support/server-of-version.ts'
import { serverMeter } from '../cpu-meter.ts'
import { openAccounts } from '../ledger/calls.ts'

const NAME = 'bench'
/** As a server that stores money, and with the memory that tests give to Citus. */
const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '64MB',
  max_wal_size: '2GB',
}

/** Reads CPU seconds. */
type Meter = () => number

/** A cluster and one server of the same version, with equal ledgers. */
export interface BenchServers {
  readonly plain: { readonly url: string; readonly readCpu: Meter }
  /** `url` is that of the coordinator. */
  readonly citus: { readonly url: string; readonly readCpu: Meter; readonly workers: Meter[] }
  /** Spreads the shards over the first `count` workers. */
  useWorkers(count: number): Promise<void>
}

/** Starts the servers, whose data is in `folder`. @param scope stops them */
export async function startServers(
  folder: string,
  { workers, shards }: { readonly workers: number; readonly shards: number },
  scope: AsyncDisposableStack,
): Promise<BenchServers> {
  const open = (url: string): Pool => {
    const pool = createPool(url, { max: 2, statementMs: 0, applicationName: 'bench' })
    scope.defer(() => pool.end())
    return pool
  }
  const single = join(folder, 'plain')
  await mkdir(single, { mode: 0o711 })
  const options = { settings: SETTINGS, auth: 'trust' } as const
  const server = await startServerOf(CITUS_VERSION, single, options)
  scope.defer(() => server.stop())
  const cluster = await startCitus(folder, workers, SETTINGS)
  scope.defer(() => cluster.stop())
  const root = open(server.url)
  await root.query(`CREATE DATABASE ${NAME}`)
  const plainUrl = databaseUrl(server.url, NAME)
  await migrate(plainUrl)
  const citusUrl = await cluster.createDatabase(NAME)
  const owner = open(citusUrl)
  await storeShardsOn(owner, cluster.workers.slice(0, 1))
  await openLogins({ url: citusUrl, cluster: 'citus', distributes: true })
  for (const each of [open(plainUrl), owner]) {
    await each.query('SELECT ledger.ensure_partitions()')
    await openAccounts(each, shards)
  }
  return {
    plain: { url: plainUrl, readCpu: await serverMeter(root) },
    citus: {
      url: citusUrl,
      readCpu: await serverMeter(owner),
      workers: await Promise.all(cluster.workers.map((url) => serverMeter(open(url)))),
    },
    async useWorkers(count) {
      await storeShardsOn(owner, cluster.workers.slice(0, count))
      await spread(owner)
    },
  }
}

/** Lets only these workers store shards. */
async function storeShardsOn(owner: Pool, workers: readonly string[]): Promise<void> {
  await owner.query(
    `SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards',
       nodename || ':' || nodeport = ANY ($1)) FROM pg_dist_node WHERE groupid > 0`,
    [workers.map((url) => new URL(url).host)],
  )
}

async function spread(owner: Pool): Promise<void> {
  const client = await owner.connect()
  try {
    const { nodes, shards } = await readClusterStatus(client)
    const moves = rebalance(client, nodes, shards)
    while (!(await moves.next()).done);
  } finally {
    client.release()
  }
}
