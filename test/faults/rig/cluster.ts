import { execFile } from 'node:child_process'
import { appendFile, chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { type ClusterLocation, findClusterLocation } from '../../../core/db/cluster-location.ts'
import { startEmbedded } from '../../../core/db/embedded.ts'
import { findPrograms } from '../../../core/db/programs.ts'
import { type ManagedProcess, startManagedProcess } from '../../../core/runtime/managed-process.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { findProgramsOf, startServerOf } from '../../support/server-of-version.ts'
import { Proxy } from './proxy.ts'

const run = promisify(execFile)
const READY = /database system is ready to accept (?:read-only )?connections/
const READY_MS = 60_000
/** Error while a process of the killed server is still exiting. */
const LEFT_OVER = /pre-existing shared memory/
const RETRY_MS = 100
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  timezone: 'UTC',
  lc_messages: 'C',
}

/** PostgreSQL of a cluster. */
export interface ClusterOptions {
  /** Major version, without passwords. @defaultValue that of the npm package, with passwords */
  readonly version?: string
  /** Settings of every start. */
  readonly settings?: Readonly<Record<string, string>>
}

/**
 * Durable PostgreSQL server of one test, which the test may kill. A proxy gives it a stable address
 * across restarts.
 */
export class Cluster {
  readonly proxy: Proxy
  /** The superuser's connection string to the database `postgres`, through the proxy. */
  readonly url: string
  readonly #folder: string
  readonly #place: ClusterLocation
  readonly #options: ClusterOptions
  #postmaster: ManagedProcess | undefined
  #port = 0

  private constructor(
    { folder, place }: { readonly folder: string; readonly place: ClusterLocation },
    proxy: Proxy,
    url: string,
    options: ClusterOptions,
  ) {
    this.#folder = folder
    this.#place = place
    this.#options = options
    this.proxy = proxy
    this.url = proxy.through(url)
  }

  /** Creates a cluster in a temporary directory without starting it. */
  static async create(options: ClusterOptions = {}): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-faults-'))
    await chmod(folder, 0o711) // root runs the server as another user
    const { version } = options
    const made =
      version === undefined
        ? await startEmbedded({ dataDir: folder })
        : await startServerOf(version, folder, { auth: 'trust' })
    await made.stop()
    return Cluster.#of(folder, made.url, options)
  }

  static async #of(folder: string, url: string, options: ClusterOptions): Promise<Cluster> {
    const place = await findClusterLocation(folder, () => {})
    return new Cluster({ folder, place }, await Proxy.open(), url, options)
  }

  /** Port of the running server. */
  get port(): number {
    return this.#port
  }

  /**
   * Creates a standby that replicates this cluster through `link`. Stop this cluster cleanly first.
   */
  async standby(link: Proxy, name: string): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-faults-'))
    await chmod(folder, 0o711)
    await cp(join(this.#folder, 'postgres'), join(folder, 'postgres'), { recursive: true })
    const { user } = this.#place
    const to = join(folder, 'postgres')
    const { password } = new URL(this.url)
    await writeFile(join(to, 'standby.signal'), '')
    await appendFile(
      join(to, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${link.port} user=postgres password=${password} ` +
        `application_name=${name}'\nwal_retrieve_retry_interval = '200ms'\n`,
    )
    await chmod(to, 0o700)
    if (user) await run('chown', ['-R', `${user.uid}:${user.gid}`, to])
    return Cluster.#of(folder, this.url, this.#options)
  }

  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const deadline = elapsedMs() + READY_MS
    for (;;) {
      const postmaster = await this.#launch(settings)
      this.#postmaster = postmaster
      if (await isReady(postmaster, deadline)) break
      this.#postmaster = undefined
      await postmaster.stop()
      await sleep(RETRY_MS) // its last output may arrive after its exit event
      if (LEFT_OVER.test(postmaster.tail()) && elapsedMs() < deadline) continue
      throw new Error(`PostgreSQL did not start: ${postmaster.tail()}`)
    }
    this.proxy.target = this.#port
  }

  async #launch(settings: Readonly<Record<string, string>>): Promise<ManagedProcess> {
    const { cluster, user } = this.#place
    const { version, settings: own } = this.#options
    const { postgres } = await (version ? findProgramsOf(version) : findPrograms(user, () => {}))
    const options = Object.entries({ ...SETTINGS, ...own, ...settings })
    this.#port = await freePort()
    return startManagedProcess(
      postgres,
      [
        '-D',
        cluster,
        '-p',
        String(this.#port),
        ...options.flatMap(([k, v]) => ['-c', `${k}=${v}`]),
      ],
      {
        cwd: cluster,
        env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
        ...(user && { user: { uid: user.uid, gid: user.gid } }),
      },
    )
  }

  /** Kills the server with SIGKILL. */
  async kill(): Promise<void> {
    const postmaster = this.#postmaster
    if (!postmaster) return
    this.#postmaster = undefined
    await killWithChildren(postmaster.pid)
    await postmaster.exited
    this.proxy.target = undefined
    this.proxy.cut()
  }

  /** Stops all processes of the server with SIGSTOP. @returns a function that resumes them */
  async suspend(): Promise<() => void> {
    const postmaster = this.#postmaster
    if (!postmaster) return () => {}
    const pids = await suspendParent(postmaster.pid)
    for (const pid of pids) sendSignal(pid, 'SIGSTOP')
    return () => {
      for (const pid of pids) sendSignal(pid, 'SIGCONT')
    }
  }

  /** Kills one connection's backend with SIGKILL: PostgreSQL then restarts all of them. */
  async killBackend(): Promise<void> {
    if (!this.#postmaster) return
    const backends = await childrenOf(this.#postmaster.pid, /127\.0\.0\.1/)
    const victim = backends[Math.floor(Math.random() * backends.length)]
    if (victim !== undefined) sendSignal(victim, 'SIGKILL')
  }

  /** Stops the server cleanly. */
  async stop(): Promise<void> {
    await this.#postmaster?.stop()
    this.#postmaster = undefined
  }

  /** Kills the server and deletes its data; callable in any state. */
  async remove(): Promise<void> {
    await this.kill()
    await this.proxy.close()
    await rm(this.#place.cluster, { recursive: true, force: true })
    await rm(this.#folder, { recursive: true, force: true })
  }
}

async function isReady(postmaster: ManagedProcess, deadline: number): Promise<boolean> {
  const ended = postmaster.exited.then(() => true)
  while (!READY.test(postmaster.tail())) {
    const dead = await Promise.race([ended, sleep(20).then(() => false)])
    if (dead || elapsedMs() > deadline) return false
  }
  return true
}

/** Kills a postmaster and all its children: a surviving child could still commit. */
export async function killWithChildren(postmaster: number): Promise<void> {
  for (const pid of await suspendParent(postmaster)) sendSignal(pid, 'SIGKILL')
}

/** Suspends a process, so that it starts no other. @returns its children and itself */
async function suspendParent(pid: number): Promise<readonly number[]> {
  sendSignal(pid, 'SIGSTOP')
  return [...(await childrenOf(pid)), pid]
}

/** Returns the processes that a process started and whose command line matches. */
export async function childrenOf(pid: number, title = /./): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,args='])
  return stdout
    .split('\n')
    .map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [])
    .filter(([, , parent, args = '']) => Number(parent) === pid && title.test(args))
    .map(([, child]) => Number(child))
}

export function sendSignal(pid: number, signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
