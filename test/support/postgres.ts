import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { startEmbedded } from '../../core/db/embedded.ts'
import { migrate } from '../../core/db/migrate.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
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
  stop(): Promise<void>
}

/** Environment variable with the data folder of all servers of a test run. */
export const CLUSTERS_FOLDER = 'HUB_TEST_CLUSTERS'

const TEMPLATE = 'template_hub'
/** Maximum time for an ended connection to disappear; shorter than a pool's idle timeout. */
const LEAK_MS = 5_000

let running: Promise<Running> | undefined
let template: Promise<void> | undefined
let count = 0
/** Databases not dropped yet, with their creators. */
const open = new Map<string, string>()

/** Starts the shared server on first use; not durable, because its data is disposable. */
function sharedCluster(): Promise<SharedCluster> {
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
  const { url, root } = await sharedCluster()
  if (!empty) await (template ??= createTemplate(url, root))
  const source = empty ? 'template1' : TEMPLATE
  await root.query(`CREATE DATABASE "${name}" TEMPLATE ${source} STRATEGY file_copy`)
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
      await root.query(`DROP DATABASE "${name}" WITH (FORCE)`)
      if (leaks.length > 0) throw new Error(`${name} was left in use: ${leaks.join('; ')}`)
    },
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

async function joinCluster(url: string): Promise<Running> {
  const root = createPool(url, { max: 4, applicationName: 'test root' })
  await root.query(`DROP DATABASE IF EXISTS ${TEMPLATE}`)
  return { url, root, stop: () => root.end() }
}

async function createTemplate(url: string, root: Pool): Promise<void> {
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
       WHERE datname = $1 AND backend_type = 'client backend'`,
      [name],
    )
    const leaks = rows.map((row) => `"${row.application_name}" never ended (last: ${row.query})`)
    if (leaks.length === 0 || elapsedMs() > deadline) return leaks
    await sleep(10)
  }
}
