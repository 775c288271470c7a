import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { connectClient } from '../../core/db/client.ts'
import type { EmbeddedServer } from '../../core/db/embedded.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { startServerOf } from './server-of-version.ts'

/** Major version of Debian's PostgreSQL that Citus is looked for in. */
export const CITUS_VERSION = '15'
const EXTENSION = `/usr/share/postgresql/${CITUS_VERSION}/extension/citus.control`

/** Settings that every node needs. */
export const CITUS_SETTINGS = {
  shared_preload_libraries: 'citus',
  max_prepared_transactions: '200',
  max_worker_processes: '64', // one for each database
  wal_level: 'logical',
  shared_buffers: '64MB',
  'citus.local_hostname': '127.0.0.1',
  'citus.enable_version_checks': 'on',
} as const

/** Message of tests that are skipped because Citus is not installed. */
export const NO_CITUS = `Citus for Debian's PostgreSQL ${CITUS_VERSION} is not installed`

export const hasCitus = (): Promise<boolean> =>
  stat(EXTENSION).then(
    () => true,
    () => false,
  )

/** Databases of a coordinator and its workers. */
export interface CitusDatabases {
  /** Creates a database on every node, with all workers as nodes. @returns the coordinator's */
  createDatabase(name: string): Promise<string>
  /** Copies a database of this cluster, which may not be connected to from then on. */
  copyDatabase(from: string, name: string): Promise<void>
  dropDatabase(name: string): Promise<void>
}

/** Coordinator and workers, each a PostgreSQL server with Citus. */
export interface CitusCluster extends CitusDatabases {
  /** Connection string of the superuser to the database `postgres` of the coordinator. */
  readonly url: string
  readonly workers: readonly string[]
  stop(): Promise<void>
}

/** Starts a cluster in `folder`. Its nodes trust local connections. @param more settings */
export async function startCitus(
  folder: string,
  workers = 2,
  more: Readonly<Record<string, string>> = {},
): Promise<CitusCluster> {
  const nodes = Array.from({ length: workers + 1 }, (_, node) => join(folder, `node-${node}`))
  const servers = await Promise.all(nodes.map((each) => startNode(each, more)))
  const [coordinator, ...others] = servers.map(({ url }) => url)
  return {
    url: coordinator!,
    workers: others,
    ...databasesOf(coordinator!, others),
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

async function startNode(
  dataDir: string,
  more: Readonly<Record<string, string>>,
): Promise<EmbeddedServer> {
  await mkdir(dataDir, { recursive: true })
  await chmod(dataDir, 0o711)
  const settings = { ...CITUS_SETTINGS, ...more }
  return startServerOf(CITUS_VERSION, dataDir, { settings, auth: 'trust' })
}

/**
 * Manages databases of nodes, which know each other by the addresses in these connection strings of
 * the superuser.
 */
export function databasesOf(coordinator: string, workers: readonly string[]): CitusDatabases {
  const nodes = [coordinator, ...workers]
  return {
    async createDatabase(name) {
      for (const url of nodes) {
        await run(url, `CREATE DATABASE "${name}"`)
        await run(databaseUrl(url, name), 'CREATE EXTENSION citus')
      }
      const { hostname, port } = new URL(coordinator)
      const own = databaseUrl(coordinator, name)
      await run(own, `SELECT citus_set_coordinator_host('${hostname}', ${port})`)
      for (const url of workers) {
        const worker = new URL(url)
        await run(own, `SELECT citus_add_node('${worker.hostname}', ${worker.port})`)
      }
      return own
    },
    async copyDatabase(from, name) {
      for (const url of nodes) {
        await run(
          url,
          `ALTER DATABASE "${from}" ALLOW_CONNECTIONS false`,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}'`,
          `CREATE DATABASE "${name}" TEMPLATE "${from}" STRATEGY file_copy`,
        )
      }
    },
    async dropDatabase(name) {
      for (const url of nodes) await run(url, `DROP DATABASE "${name}" WITH (FORCE)`)
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
