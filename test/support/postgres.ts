import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { startEmbedded } from '../../core/db/embedded.ts'
import { openLogins } from '../../core/db/logins.ts'
import { migrate } from '../../core/db/migrate.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { type CitusCluster, startCitus } from './citus.ts'
import { SERVER_VERSION, startServerOf } from './server-of-version.ts'

/** PostgreSQL server shared by all test files of a run and deleted afterwards. */
export interface SharedCluster {
  /** The superuser's connection string to the database `postgres`. */
  readonly url: string
  /** The superuser's pool on the database `postgres`. */
  readonly root: Pool
}

/** Database of a test file, cloned from the migrated template. */
export interface FreshDatabase {
  /** Connection string of the owner (the superuser). */
  readonly url: string
  /** Pool with the role `hub_finance`, which has the rights of `hub_app` and may post. */
  readonly pool: Pool
  /** Pool of the owner, as used by migrations. */
  readonly admin: Pool
  /** Ends both pools and drops the database. Throws if a connection is still open. */
  drop(): Promise<void>
}

interface Running extends SharedCluster {
  /** Set if tests run on Citus. */
  readonly citus?: CitusCluster
  stop(): Promise<void>
}

/** Engine that distributes the ledger of tests, as `HUB_CLUSTER` does for a hub. */
export const TEST_CLUSTER = process.env['HUB_CLUSTER'] === 'citus' ? 'citus' : undefined

/** Environment variable with the data folder of all servers of a test run. */
export const CLUSTERS_FOLDER = 'HUB_TEST_CLUSTERS'

const TEMPLATE = 'template_hub'
/** Maximum time for an ended connection to disappear; shorter than the idle timeout of a pool. */
const LEAK_MS = 9_000

let running: Promise<Running> | undefined
let template: Promise<void> | undefined
let count = 0
/** Databases not dropped yet, with their creators. */
const open = new Map<string, string>()

/** Starts the shared server on first use; not durable, because its data is disposable. */
function sharedCluster(): Promise<Running> {
  running ??= startCluster()
  return running
}

/**
 * Creates a database with the real migrations applied. Call `drop` in `after`. Usually one per test
 * file, but cheap enough (about 80 ms) for one per test. With `empty` it has no migrations, and
 * `pool` fails until they have created the role.
 */
export async function freshDatabase(
  name = `test_${++count}`,
  { empty = false } = {},
): Promise<FreshDatabase> {
  const caller = new Error().stack?.split('\n').find((line) => line.includes('.test.ts')) ?? ''
  const cluster = await sharedCluster()
  const { url, root } = cluster
  if (!empty) await prepareTemplate()
  await createDatabase(cluster, name, empty)
  open.set(name, caller.trim())
  const own = databaseUrl(url, name)
  const pool = createPool(own, { role: 'hub_finance', applicationName: `${name} pool` })
  const admin = createPool(own, { applicationName: `${name} admin` })
  return {
    url: own,
    pool,
    admin,
    async drop() {
      if (!open.delete(name)) return
      const leaks = [...(await endPool(pool)), ...(await endPool(admin))]
      if (leaks.length === 0) leaks.push(...(await lingering(root, name)))
      await (cluster.citus?.dropDatabase(name) ??
        root.query(`DROP DATABASE "${name}" WITH (FORCE)`))
      if (leaks.length > 0) throw new Error(`${name} was left in use: ${leaks.join('; ')}`)
    },
  }
}

/** Migrates the database that others are copied from, on first use. */
export async function prepareTemplate(): Promise<void> {
  const cluster = await sharedCluster()
  await (template ??= createTemplate(cluster))
}

async function createDatabase(
  { root, url, citus }: Running,
  name: string,
  empty: boolean,
): Promise<void> {
  if (citus === undefined) {
    const source = empty ? 'template1' : TEMPLATE
    await root.query(`CREATE DATABASE "${name}" TEMPLATE ${source} STRATEGY file_copy`)
  } else if (empty) {
    await citus.createDatabase(name)
  } else {
    await citus.copyDatabase(TEMPLATE, name)
    await openLogins({ url: databaseUrl(url, name), cluster: 'citus', distributes: true })
  }
}

/** Runs statements of the superuser in the database `postgres`. */
export const withRoot = async <T>(work: (root: Pool) => Promise<T>): Promise<T> =>
  work((await sharedCluster()).root)

/** Stops the server of this process, if any. */
export async function stopSharedCluster(): Promise<void> {
  const cluster = await running
  running = undefined
  template = undefined
  await cluster?.stop()
}

/** Root hook `afterAll`: throws if a test file left a database behind. */
export function assertAllDropped(): void {
  const left = [...open].map(([name, caller]) => `${name} ${caller}`)
  open.clear()
  if (left.length > 0) {
    throw new Error(`call drop() in after(); databases never dropped: ${left.join('; ')}`)
  }
}

/** Environment variable with the superuser's URL of another server for the tests. */
const OTHER_SERVER = 'HUB_TEST_POSTGRES'

async function startCluster(): Promise<Running> {
  const other = process.env[OTHER_SERVER]
  if (other !== undefined) return joinCluster(other)
  const folder = process.env[CLUSTERS_FOLDER] ?? tmpdir()
  const dataDir = await mkdtemp(join(folder, 'agenthub-test-'))
  await chmod(dataDir, 0o711) // root runs the server as another user
  if (TEST_CLUSTER === 'citus') return startDistributed(dataDir)
  const version = process.env[SERVER_VERSION]
  const server = version
    ? await startServerOf(version, dataDir)
    : await startEmbedded({ dataDir, durable: false })
  const { url } = server
  const root = createPool(url, { max: 4, applicationName: 'test root' })
  return {
    url,
    root,
    async stop() {
      await root.end()
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function startDistributed(dataDir: string): Promise<Running> {
  const citus = await startCitus(dataDir)
  const root = createPool(citus.url, { max: 4, applicationName: 'test root' })
  return {
    url: citus.url,
    root,
    citus,
    async stop() {
      await root.end()
      await citus.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function joinCluster(url: string): Promise<Running> {
  const root = createPool(url, { max: 4, applicationName: 'test root' })
  await root.query(`DROP DATABASE IF EXISTS ${TEMPLATE}`)
  return { url, root, stop: () => root.end() }
}

async function createTemplate({ url, root, citus }: Running): Promise<void> {
  if (citus !== undefined) {
    const own = await citus.createDatabase(TEMPLATE)
    await openLogins({ url: own, cluster: 'citus', distributes: true })
    return
  }
  await root.query(`CREATE DATABASE ${TEMPLATE}`)
  await migrate(databaseUrl(url, TEMPLATE))
  await root.query('CHECKPOINT') // otherwise the first clone would be slow
}

/** Ends a pool unless a connection is still in use, because then ending would never finish. */
async function endPool(pool: Pool): Promise<string[]> {
  const deadline = elapsedMs() + LEAK_MS
  const held = () => pool.totalCount - pool.idleCount
  while (held() > 0 && elapsedMs() < deadline) await sleep(10)
  if (held() === 0) {
    if (!pool.ended) await pool.end()
    return []
  }
  return [`${held()} connections of "${pool.options.application_name}" were never released`]
}

/** Returns connections that the test opened and did not end. */
async function lingering(root: Pool, name: string): Promise<string[]> {
  const deadline = elapsedMs() + LEAK_MS
  for (;;) {
    const { rows } = await root.query<{ application_name: string; query: string }>(
      `SELECT application_name, left(query, 80) AS query FROM pg_stat_activity
       WHERE datname = $1 AND backend_type = 'client backend'
         AND application_name NOT LIKE 'citus%'`,
      [name],
    )
    const leaks = rows.map((row) => `"${row.application_name}" never ended (last: ${row.query})`)
    if (leaks.length === 0 || elapsedMs() > deadline) return leaks
    await sleep(10)
  }
}
