import { randomBytes } from 'node:crypto'
import { chown, mkdir, open, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { elapsedMs, pause, sleep } from '../clock.ts'
import {
  type ManagedProcess,
  type ManagedProcessOptions,
  startManagedProcess,
} from '../runtime/managed-process.ts'
import { freePort } from '../runtime/net.ts'
import { connectClient } from './client.ts'
import { type ClusterLocation, findClusterLocation } from './cluster-location.ts'
import { lockFile } from './lock.ts'
import { findPrograms, type Programs } from './programs.ts'
import { NON_DURABLE_SETTINGS, serverSettings } from './server-settings.ts'

/** Built-in PostgreSQL server, run by this process. */
export interface EmbeddedServer {
  /** Superuser connection string of the database `postgres`; listens on 127.0.0.1 only. */
  readonly url: string
  /** Shuts the server down and unlocks the data directory. Idempotent. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** The cluster is in `<dataDir>/postgres`; the directory is created if missing. */
  readonly dataDir: string
  /** Logs information for the operator, such as the location of the data. */
  readonly log?: (text: string) => void
  /** Logs crashes and restarts of the server. @defaultValue `log` */
  readonly warn?: (text: string) => void
  /** False skips fsync; for tests only. @defaultValue true */
  readonly durable?: boolean
}

/** Environment of the server: nothing of the hub's (secrets, PGDATA …) is inherited. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

const READY = 'database system is ready to accept connections'
/** Output of a server that fails because another one still shuts down, or the port is taken. */
const TRANSIENT_FAILURE =
  /lock file "[^"]*" already exists|pre-existing shared memory|could not bind/
const TRANSIENT_RETRY_MS = 30_000
/** Maximum time to start. Long, because recovery after a crash may replay 2 GB of log. */
const READY_MS = 180_000

/**
 * Starts the PostgreSQL server of `dataDir`; creates the cluster on first use. The server ends with
 * this process, including on SIGKILL. If it crashes, it is restarted at the same address; if it
 * keeps crashing, this process exits.
 * @throws Error if another process uses the data directory, if no PostgreSQL is available for this
 * platform, or with PostgreSQL's output if it does not start
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  if (process.platform === 'win32') {
    throw new Error('The built-in database needs Linux or macOS. Set DATABASE_URL, or use WSL.')
  }
  const { log = () => {}, warn = log, durable = true } = options
  const dataDir = resolve(options.dataDir)
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const unlock = await lockFile(join(dataDir, 'postgres.lock'), `The data directory ${dataDir}`)
  try {
    const place = await findClusterLocation(dataDir, log)
    const programs = await findPrograms(place.user, log)
    const password = await findOrCreatePassword(dataDir, place)
    if (!place.exists) await createCluster(programs, place, password, durable)
    const { server: first, port } = await launch(programs, place, durable)
    const start = async () => (await launch(programs, place, durable, port)).server
    const server = superviseServer(first, { start, warn })
    const stop = async (): Promise<void> => {
      await server.stop()
      await unlock()
    }
    let stopped: Promise<void> | undefined
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      stop: () => (stopped ??= stop()), // a second call could remove the lock of another process
    }
  } catch (error) {
    await unlock()
    throw error
  }
}

/** Returns the connection string of another process's server on this directory, if any. */
export async function runningUrl(dataDir: string): Promise<string | undefined> {
  const read = (...path: string[]) => readFile(join(dataDir, ...path), 'utf8').catch(() => '')
  const password = (await read('postgres.password')).trim()
  // Lines of the file: pid, data directory, start time, port … (PostgreSQL's storage/lockfile.h)
  const port = (await read('postgres', 'postmaster.pid')).split('\n')[3]
  if (password === '' || !port) return undefined
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  return (await isReachable(url)) ? url : undefined
}

/** Long, because a server on a busy machine may need seconds; one that is down refuses at once. */
const RESPONSE_TIMEOUT_MS = 20_000

async function isReachable(connectionString: string): Promise<boolean> {
  try {
    const client = await connectClient(connectionString, 'agenthub', {
      connectionTimeoutMillis: RESPONSE_TIMEOUT_MS,
    })
    await client.end().catch(() => {})
    return true
  } catch {
    return false
  }
}

/** Random superuser password, stored beside the cluster and readable by the hub's user only. */
async function findOrCreatePassword(dataDir: string, place: ClusterLocation): Promise<string> {
  const file = join(dataDir, 'postgres.password')
  if (place.exists) {
    return (
      await readFile(file, 'utf8').catch((cause) => {
        throw new Error(`The database password cannot be read from ${file}.`, { cause })
      })
    ).trim()
  }
  const password = randomBytes(24).toString('base64url')
  await writeFile(file, `${password}\n`, { mode: 0o600 })
  return password
}

/** Creates the cluster under a temporary name, so that an interrupted run leaves no partial one. */
async function createCluster(
  programs: Programs,
  { cluster, entry, user }: ClusterLocation,
  password: string,
  durable: boolean,
): Promise<void> {
  const work = `${cluster}.new`
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { mode: 0o700 })
  const secret = join(work, 'password')
  await writeFile(secret, password, { mode: 0o600 })
  if (user !== undefined) await Promise.all([work, secret].map((p) => chown(p, user.uid, user.gid)))
  const initdb = startManagedProcess(
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
    processOptions(work, user),
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

const processOptions = (cwd: string, user: ClusterLocation['user']): ManagedProcessOptions => ({
  cwd,
  env: ENVIRONMENT,
  ...(user === undefined ? {} : { user: { uid: user.uid, gid: user.gid } }),
})

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync()
  await folder.close()
}

/** Starts the server; retries for `TRANSIENT_RETRY_MS` while a previous one still shuts down. */
async function launch(
  programs: Programs,
  { cluster, user }: ClusterLocation,
  durable: boolean,
  samePort?: number,
): Promise<{ server: ManagedProcess; port: number }> {
  const settings = Object.entries({ ...serverSettings(), ...(durable ? {} : NON_DURABLE_SETTINGS) })
  const deadline = elapsedMs() + TRANSIENT_RETRY_MS
  for (;;) {
    const port = samePort ?? (await freePort())
    const server = startManagedProcess(
      programs.postgres,
      ['-D', cluster, '-p', String(port), ...settings.flatMap(([k, v]) => ['-c', `${k}=${v}`])],
      processOptions(cluster, user),
    )
    if (await waitUntilReady(server)) return { server, port }
    await server.stop()
    if (!TRANSIENT_FAILURE.test(server.tail()) || elapsedMs() > deadline) {
      throw new Error(`PostgreSQL did not start in ${cluster}. Its output:\n${server.tail()}`)
    }
    await sleep(200)
  }
}

const POLL_MS = 10
/** Wait for the last output of a process, which may arrive after its exit. */
const TAIL_MS = 50

async function waitUntilReady(server: ManagedProcess): Promise<boolean> {
  const exited = server.exited.then(() => true)
  const deadline = elapsedMs() + READY_MS
  while (elapsedMs() < deadline) {
    if (server.tail().includes(READY)) return true
    if (await Promise.race([exited, sleep(POLL_MS).then(() => false)])) break
  }
  await sleep(TAIL_MS)
  return false
}

/** Delays before restarts, by the number of recent crashes. */
const BACK_OFF_MS = [100, 500, 2_000, 5_000] as const
const RECENT_MS = 600_000

/**
 * Restarts a server whenever it exits, until it is stopped. At the fifth exit in ten minutes, an
 * error that nobody catches ends this process.
 * @param start starts the server again, or rejects while the old one still leaves processes behind
 */
function superviseServer(
  first: ManagedProcess,
  { start, warn }: { start: () => Promise<ManagedProcess>; warn: (text: string) => void },
): Pick<ManagedProcess, 'stop'> {
  const stopping = new AbortController()
  const { signal } = stopping
  let server = first
  let exits: readonly number[] = []

  const watch = async (): Promise<void> => {
    for (let reason = await exitReason(server); !signal.aborted; reason = await restart()) {
      const now = elapsedMs()
      exits = [...exits.filter((at) => now - at < RECENT_MS), now]
      const delay = BACK_OFF_MS[exits.length - 1]
      if (delay === undefined) throw new Error(`PostgreSQL keeps failing: the hub exits. ${reason}`)
      warn(reason)
      await pause(delay, signal)
    }
  }
  const restart = async (): Promise<string> => {
    if (signal.aborted) return ''
    try {
      server = await start()
    } catch (error) {
      return (error as Error).message
    }
    if (signal.aborted) await server.stop()
    else warn('PostgreSQL was restarted.')
    return exitReason(server)
  }

  const watching = watch()
  return {
    async stop() {
      stopping.abort()
      await server.stop()
      await watching
    },
  }
}

async function exitReason(server: ManagedProcess): Promise<string> {
  const code = await server.exited.catch((error: unknown) => error)
  return `PostgreSQL ended unexpectedly (${String(code)}). Its output:\n${server.tail()}`
}
