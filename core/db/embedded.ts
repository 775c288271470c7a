import { randomBytes } from 'node:crypto'
import { chown, mkdir, open, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Client } from 'pg'
import { elapsedMs, sleep } from '../clock.ts'
import { type KeepOptions, type Kept, keep } from '../runtime/managed-process.ts'
import { freePort } from '../runtime/net.ts'
import { lockFile } from './lock.ts'
import { findPlace, type Place } from './place.ts'
import { findPrograms, type Programs } from './programs.ts'
import { revive } from './revive.ts'

/** A PostgreSQL server that this process runs for itself. */
export interface Embedded {
  /** Connection string of the superuser, to the database `postgres`; listens on 127.0.0.1 only. */
  readonly url: string
  /** Stops the server in order, and gives the data directory free. May be called twice. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** The cluster lies in `<dataDir>/postgres`; the directory is made when absent. */
  readonly dataDir: string
  /** Hears what an operator may want to know, such as where data went. */
  readonly log?: (text: string) => void
  /** Hears that the server died, and that it runs again. @defaultValue `log` */
  readonly warn?: (text: string) => void
  /** False: nothing is forced to disk. For tests, whose data nobody misses. @defaultValue true */
  readonly durable?: boolean
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '192MB',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min', // after each one, every page that changes is logged whole once
  wal_compression: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
}
const UNSAFE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/** Nothing of the hub's environment (its secrets, PGDATA …) reaches the database. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

const READY = 'database system is ready to accept connections'
/** Another one still shuts down, or a process of one that died lives on, or the port is taken. */
const PASSING = /lock file ".*" already exists|pre-existing shared memory|could not bind/
const PASSING_MS = 30_000
/** Recovery after a crash replays at most 2 GB of log. */
const READY_MS = 180_000

/**
 * Starts the PostgreSQL server of `dataDir`, making the cluster the first time. It ends with this
 * process, however this process ends; when it dies before, it is started again at the same address,
 * and when that does not help this process ends. Throws when another process uses the data
 * directory, when there is no PostgreSQL for this platform, and with PostgreSQL's own words when it
 * does not start.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  if (process.platform === 'win32') {
    throw new Error('The built-in database needs Linux or macOS. Set DATABASE_URL, or use WSL.')
  }
  const { log = () => {}, warn = log, durable = true } = options
  const dataDir = resolve(options.dataDir)
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const unlock = await lockFile(join(dataDir, 'postgres.lock'), `The data directory ${dataDir}`)
  try {
    const place = await findPlace(dataDir, log)
    const programs = await findPrograms(place.user, log)
    const password = await findPassword(dataDir, place)
    if (!place.exists) await createCluster(programs, place, password, durable)
    const { kept, port } = await launch(programs, place, durable)
    const start = async () => (await launch(programs, place, durable, port)).kept
    const server = revive(kept, { start, warn })
    const stop = async (): Promise<void> => {
      await server.stop()
      await unlock()
    }
    let stopped: Promise<void> | undefined
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      stop: () => (stopped ??= stop()), // a second call must not unlock what others have by then
    }
  } catch (error) {
    await unlock()
    throw error
  }
}

/**
 * The connection string of the server that some other process runs on this data directory;
 * undefined when none does.
 */
export async function runningUrl(dataDir: string): Promise<string | undefined> {
  const read = (...path: string[]) => readFile(join(dataDir, ...path), 'utf8').catch(() => '')
  const password = (await read('postgres.password')).trim()
  // Lines of the file: pid, data directory, start time, port … (PostgreSQL's storage/lockfile.h)
  const port = (await read('postgres', 'postmaster.pid')).split('\n')[3]
  if (password === '' || !port) return undefined
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  return (await answers(url)) ? url : undefined
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/** The superuser's password: random, kept beside the cluster, readable to the hub's user only. */
async function findPassword(dataDir: string, place: Place): Promise<string> {
  const file = join(dataDir, 'postgres.password')
  if (place.exists) {
    return (
      await readFile(file, 'utf8').catch((cause) => {
        throw new Error(`The password of the database cannot be read from ${file}.`, { cause })
      })
    ).trim()
  }
  const password = randomBytes(24).toString('base64url')
  await writeFile(file, `${password}\n`, { mode: 0o600 })
  return password
}

/** Makes the cluster under another name first: one cut short is never taken for a whole one. */
async function createCluster(
  programs: Programs,
  { cluster, entry, user }: Place,
  password: string,
  durable: boolean,
): Promise<void> {
  const work = `${cluster}.new`
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { mode: 0o700 })
  const secret = join(work, 'password')
  await writeFile(secret, password, { mode: 0o600 })
  if (user !== undefined) await Promise.all([work, secret].map((p) => chown(p, user.uid, user.gid)))
  const initdb = keep(
    programs.initdb,
    [
      `--pgdata=${join(work, 'data')}`,
      '--username=postgres',
      `--pwfile=${secret}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      `--locale=${process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'}`,
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(durable ? [] : ['--no-sync']),
    ],
    identity(work, user),
  )
  if ((await initdb.exited) !== 0) {
    await sleep(TAIL_MS)
    throw new Error(`PostgreSQL's initdb failed in ${work}:\n${initdb.tail()}`)
  }
  await rename(join(work, 'data'), cluster)
  await syncFolder(dirname(cluster))
  if (cluster !== entry) await symlink(cluster, entry)
  await rm(work, { recursive: true })
}

const identity = (cwd: string, user: Place['user']): KeepOptions => ({
  cwd,
  env: ENVIRONMENT,
  ...(user === undefined ? {} : { user: { uid: user.uid, gid: user.gid } }),
})

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync()
  await folder.close()
}

/** Starts the server, waiting (bounded) for what is left of another one on the same cluster. */
async function launch(
  programs: Programs,
  { cluster, user }: Place,
  durable: boolean,
  samePort?: number,
): Promise<{ kept: Kept; port: number }> {
  const settings = Object.entries({ ...SETTINGS, ...(durable ? {} : UNSAFE) })
  const deadline = elapsedMs() + PASSING_MS
  for (;;) {
    const port = samePort ?? (await freePort())
    const kept = keep(
      programs.postgres,
      ['-D', cluster, '-p', String(port), ...settings.flatMap(([k, v]) => ['-c', `${k}=${v}`])],
      identity(cluster, user),
    )
    if (await becomesReady(kept)) return { kept, port }
    await kept.stop()
    if (!PASSING.test(kept.tail()) || elapsedMs() > deadline) {
      throw new Error(`PostgreSQL did not start in ${cluster}. It said:\n${kept.tail()}`)
    }
    await sleep(200)
  }
}

const POLL_MS = 10
/** What a process printed last may arrive after the news of its end. */
const TAIL_MS = 50

async function becomesReady(kept: Kept): Promise<boolean> {
  const exited = kept.exited.then(() => true)
  const deadline = elapsedMs() + READY_MS
  while (elapsedMs() < deadline) {
    if (kept.tail().includes(READY)) return true
    if (await Promise.race([exited, sleep(POLL_MS).then(() => false)])) break
  }
  await sleep(TAIL_MS)
  return false
}
