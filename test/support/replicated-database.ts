import { Client } from 'pg'
import { migrate } from '../../core/db/migrate.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { Cluster } from '../faults/rig/cluster.ts'
import { Proxy } from '../faults/rig/proxy.ts'
import type { FreshDatabase } from './postgres.ts'

/** Migrated database of a server of its own, with a streaming replica. */
export interface ReplicatedDatabase {
  readonly database: FreshDatabase
  readonly replica: Cluster
  /** Connection string of the superuser to the database on the replica. */
  readonly replicaUrl: string
  /** Runs statements of the superuser on the replica. */
  onReplica(sql: string): Promise<void>
  /** Stops both servers and deletes their data. */
  remove(): Promise<void>
}

const NAME = 'replicated'
/** The data need not survive a crash of the machine. */
const SETTINGS = { fsync: 'off' }

export async function startReplicatedDatabase(): Promise<ReplicatedDatabase> {
  await using scope = new AsyncDisposableStack()
  const primary = await Cluster.create()
  scope.defer(() => primary.remove())
  const link = await Proxy.open()
  scope.defer(() => link.close())
  await primary.start(SETTINGS)
  await run(primary.url, `CREATE DATABASE ${NAME}`)
  await migrate(databaseUrl(primary.url, NAME))
  await primary.stop()
  const replica = await primary.standby(link, 'replica')
  scope.defer(() => replica.remove())
  await primary.start(SETTINGS)
  link.target = primary.port
  await replica.start(SETTINGS)
  const url = databaseUrl(primary.url, NAME)
  const pool = createPool(url, { role: 'hub_finance' })
  const admin = createPool(url)
  const drop = async () => void (await Promise.all([pool.end(), admin.end()]))
  const replicaUrl = databaseUrl(replica.url, NAME)
  const opened = scope.move()
  return {
    database: { url, pool, admin, drop },
    replica,
    replicaUrl,
    onReplica: (sql) => run(replicaUrl, sql),
    remove: () => opened.disposeAsync(),
  }
}

async function run(connectionString: string, sql: string): Promise<void> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
