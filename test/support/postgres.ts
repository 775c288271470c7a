import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { startEmbedded } from '../../core/db/embedded.ts'
import { migrate } from '../../core/db/migrate.ts'
import { databaseUrl } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'

/** The PostgreSQL server that all test files of a run share. Nothing of it outlives the run. */
export interface SharedCluster {
  /** The superuser's connection string to the database `postgres`. */
  readonly url: string
  /** The superuser's pool on the database `postgres`. */
  readonly root: Pool
}

/** A database of a test file, cloned from the migrated template. */
export interface FreshDatabase {
  /** Connection string of the owner (the superuser). */
  readonly url: string
  /** As the hub runs: role `hub_app`. */
  readonly pool: Pool
  /** As migrations run: the owner. */
  readonly admin: Pool
  /** Ends both pools and drops the database. Throws when a connection was left open. */
  drop(): Promise<void>
}

interface Running extends SharedCluster {
  stop(): Promise<void>
}

/** The variable that names the folder in which all servers of a run of tests keep their data. */
export const CLUSTERS_FOLDER = 'HUB_TEST_CLUSTERS'

const TEMPLATE = 'template_hub'
/** How long a connection that was ended may take to be gone: less than a pool keeps an idle one. */
const LEAK_MS = 5_000

let running: Promise<Running> | undefined
let template: Promise<void> | undefined
let count = 0
/** Databases that were not dropped yet, and who made them. */
const open = new Map<string, string>()

/** Starts the shared server when first asked for; not durable, since nobody misses its data. */
function sharedCluster(): Promise<SharedCluster> {
  running ??= startCluster()
  return running
}

/**
 * A database with the real migrations applied. Call `drop` in `after`; one per test file is the
 * rule, and cheap enough (about 80 ms) to have one per test where tests need it. With `empty` it
 * has no migrations, and `pool` fails until they made the role.
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
  const pool = createPool(own, { role: 'hub_app', applicationName: `${name} pool` })
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

/** Stops the server of this process, if it has one. */
export async function stopSharedCluster(): Promise<void> {
  const cluster = await running
  running = undefined
  template = undefined
  await cluster?.stop()
}

/** For the root hook `afterAll`. Throws when a test file left a database behind. */
export function assertAllDropped(): void {
  const left = [...open].map(([name, caller]) => `${name} ${caller}`)
  open.clear()
  if (left.length > 0) {
    throw new Error(`call drop() in after(); databases never dropped: ${left.join('; ')}`)
  }
}

async function startCluster(): Promise<Running> {
  const folder = process.env[CLUSTERS_FOLDER] ?? tmpdir()
  const dataDir = await mkdtemp(join(folder, 'agenthub-test-'))
  await chmod(dataDir, 0o711) // root runs the server as another user
  const server = await startEmbedded({ dataDir, durable: false })
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

async function createTemplate(url: string, root: Pool): Promise<void> {
  await root.query(`CREATE DATABASE ${TEMPLATE}`)
  await migrate(databaseUrl(url, TEMPLATE))
  await root.query('CHECKPOINT') // or the first clone pays for it
}

/** Ends a pool, unless somebody still holds a connection of it: then its end would never come. */
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

/** Connections of pools and clients that the test made itself and did not end. */
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
