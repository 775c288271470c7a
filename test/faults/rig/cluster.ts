import { execFile } from 'node:child_process'
import { appendFile, chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { startEmbedded } from '../../../core/db/embedded.ts'
import { findPlace, type Place } from '../../../core/db/place.ts'
import { findPrograms } from '../../../core/db/programs.ts'
import { type Kept, keep } from '../../../core/runtime/managed-process.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { Proxy } from './proxy.ts'

const run = promisify(execFile)
const READY = /database system is ready to accept (?:read-only )?connections/
const READY_MS = 60_000
/** A process of the server that was killed is still ending. */
const LEFT_OVER = /pre-existing shared memory/
const AGAIN_MS = 100
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  timezone: 'UTC',
  lc_messages: 'C',
}

/**
 * A durable PostgreSQL server of a test's own, to be killed. It is reached by a proxy, whose
 * address stays the same while the server comes and goes.
 */
export class Cluster {
  readonly proxy: Proxy
  /** The superuser's connection string to the database `postgres`, by way of the proxy. */
  readonly url: string
  readonly #folder: string
  readonly #place: Place
  #kept: Kept | undefined
  #port = 0

  private constructor(folder: string, place: Place, proxy: Proxy, url: string) {
    this.#folder = folder
    this.#place = place
    this.proxy = proxy
    this.url = url
  }

  /** Makes a cluster in a temporary directory; it does not run yet. */
  static async create(): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-faults-'))
    await chmod(folder, 0o711) // root runs the server as another user
    const made = await startEmbedded({ dataDir: folder })
    await made.stop()
    return Cluster.#of(folder, made.url)
  }

  static async #of(folder: string, url: string): Promise<Cluster> {
    const proxy = await Proxy.open()
    return new Cluster(folder, await findPlace(folder, () => {}), proxy, proxy.through(url))
  }

  /** Port of the server that runs now. */
  get port(): number {
    return this.#port
  }

  /** A standby that follows this cluster, by way of `link`. This one must be stopped in order. */
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
    return Cluster.#of(folder, this.url)
  }

  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const deadline = elapsedMs() + READY_MS
    for (;;) {
      const kept = await this.#launch(settings)
      this.#kept = kept
      if (await isReady(kept, deadline)) break
      this.#kept = undefined
      await kept.stop()
      await sleep(AGAIN_MS) // what it said last may come after the news of its end
      if (LEFT_OVER.test(kept.tail()) && elapsedMs() < deadline) continue
      throw new Error(`PostgreSQL did not start: ${kept.tail()}`)
    }
    this.proxy.target = this.#port
  }

  async #launch(settings: Readonly<Record<string, string>>): Promise<Kept> {
    const { cluster, user } = this.#place
    const { postgres } = await findPrograms(user, () => {})
    const options = Object.entries({ ...SETTINGS, ...settings })
    this.#port = await freePort()
    return keep(
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

  /** SIGKILL of the postmaster and all of its children: one that was left would still commit. */
  async kill(): Promise<void> {
    const kept = this.#kept
    if (!kept) return
    this.#kept = undefined
    process.kill(kept.pid, 'SIGSTOP') // so that it starts nobody meanwhile
    for (const pid of [...(await childrenOf(kept.pid)), kept.pid]) endProcess(pid)
    await kept.exited
    this.proxy.target = undefined
    this.proxy.cut()
  }

  /** SIGKILL of one process that serves a connection: PostgreSQL then restarts all of them. */
  async killBackend(): Promise<void> {
    if (!this.#kept) return
    const backends = await childrenOf(this.#kept.pid, /127\.0\.0\.1/)
    const victim = backends[Math.floor(Math.random() * backends.length)]
    if (victim !== undefined) endProcess(victim)
  }

  /** Stops the server in order. */
  async stop(): Promise<void> {
    await this.#kept?.stop()
    this.#kept = undefined
  }

  /** Ends everything and deletes the data; may be called in any state. */
  async remove(): Promise<void> {
    await this.kill()
    await this.proxy.close()
    await rm(this.#place.cluster, { recursive: true, force: true })
    await rm(this.#folder, { recursive: true, force: true })
  }
}

async function isReady(kept: Kept, deadline: number): Promise<boolean> {
  const ended = kept.exited.then(() => true)
  while (!READY.test(kept.tail())) {
    const dead = await Promise.race([ended, sleep(20).then(() => false)])
    if (dead || elapsedMs() > deadline) return false
  }
  return true
}

async function childrenOf(pid: number, title = /./): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,args='])
  return stdout
    .split('\n')
    .map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [])
    .filter(([, , parent, args = '']) => Number(parent) === pid && title.test(args))
    .map(([, child]) => Number(child))
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
