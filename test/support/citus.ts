import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { connectClient } from '../../core/db/client.ts'
import type { EmbeddedServer } from '../../core/db/embedded.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { startServerOf } from './server-of-version.ts'

/** Major version of Debian's PostgreSQL that Citus is looked for in. */
const VERSION = '15'
const EXTENSION = `/usr/share/postgresql/${VERSION}/extension/citus.control`

const SETTINGS = [
  'shared_preload_libraries=citus',
  'max_prepared_transactions=200',
  'max_worker_processes=64', // one for each database
  'wal_level=logical',
  'shared_buffers=64MB',
  'citus.local_hostname=127.0.0.1',
  'citus.enable_version_checks=on',
]

/** Message of tests that are skipped because Citus is not installed. */
export const NO_CITUS = `Citus for Debian's PostgreSQL ${VERSION} is not installed`

export const hasCitus = (): Promise<boolean> =>
  stat(EXTENSION).then(
    () => true,
    () => false,
  )

/** Coordinator and workers, each a PostgreSQL server with Citus. */
export interface CitusCluster {
  /** Connection string of the superuser to the database `postgres` of the coordinator. */
  readonly url: string
  readonly workers: readonly string[]
  /** Creates a database on every node, with all workers as nodes. @returns the coordinator's */
  createDatabase(name: string): Promise<string>
  /** Copies a database of this cluster, which may not be connected to from then on. */
  copyDatabase(from: string, name: string): Promise<void>
  dropDatabase(name: string): Promise<void>
  stop(): Promise<void>
}

/** Starts a cluster in `folder`. Its nodes trust local connections. */
export async function startCitus(folder: string, workers = 2): Promise<CitusCluster> {
  const servers: EmbeddedServer[] = []
  for (let node = 0; node <= workers; node++) {
    const dataDir = join(folder, `node-${node}`)
    await mkdir(dataDir, { recursive: true })
    await chmod(dataDir, 0o711)
    servers.push(await startServerOf(VERSION, dataDir, { settings: SETTINGS, auth: 'trust' }))
  }
  const [coordinator, ...others] = servers.map(({ url }) => url)
  return {
    url: coordinator!,
    workers: others,
    async createDatabase(name) {
      for (const url of [coordinator!, ...others]) {
        await run(url, `CREATE DATABASE "${name}"`)
        await run(databaseUrl(url, name), 'CREATE EXTENSION citus')
      }
      const { hostname, port } = new URL(coordinator!)
      const own = databaseUrl(coordinator!, name)
      await run(own, `SELECT citus_set_coordinator_host('${hostname}', ${port})`)
      for (const url of others) {
        const worker = new URL(url)
        await run(own, `SELECT citus_add_node('${worker.hostname}', ${worker.port})`)
      }
      return own
    },
    async copyDatabase(from, name) {
      for (const { url } of servers) {
        await run(
          url,
          `ALTER DATABASE "${from}" ALLOW_CONNECTIONS false`,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}'`,
          `CREATE DATABASE "${name}" TEMPLATE "${from}" STRATEGY file_copy`,
        )
      }
    },
    async dropDatabase(name) {
      for (const { url } of servers) await run(url, `DROP DATABASE "${name}" WITH (FORCE)`)
    },
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

async function run(url: string, ...statements: readonly string[]): Promise<void> {
  const client = await connectClient(url, 'test citus')
  try {
    await client.query('SET citus.enable_create_database_propagation = off').catch(() => {})
    for (const sql of statements) await client.query(sql)
  } finally {
    await client.end()
  }
}
