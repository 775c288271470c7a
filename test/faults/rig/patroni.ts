import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { type ClusterLocation, findClusterLocation } from '../../../core/db/cluster-location.ts'
import { type ManagedProcess, startManagedProcess } from '../../../core/runtime/managed-process.ts'
import { CLUSTERS_FOLDER } from '../../support/postgres.ts'
import { killWithChildren, sendSignal } from './cluster.ts'

const run = promisify(execFile)

/** Files that operators are given; only names and passwords are replaced, as by `envsubst`. */
const KIT = 'server/deploy/high-availability'
const GUIDE = readFileSync('server/deploy/README.md', 'utf8')
const PASSWORD = 'a-password-of-a-test'
const READY_MS = 90_000
const REQUEST_MS = 2_000

type Values = Readonly<Record<string, string>>

const fill = (file: string, values: Values): string =>
  readFileSync(join(KIT, file), 'utf8').replace(/\$\{(\w+)\}/g, (_, name) => values[name]!)

/** Returns the JSON that a program responds with; undefined if it does not respond. */
async function fetchJson<T>(url: string, init: RequestInit = {}): Promise<T | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) })
    return (await response.json()) as T
  } catch {
    return undefined
  }
}

/** Machine with etcd, Patroni and PostgreSQL: an address of the loopback network. */
export class DatabaseMachine {
  readonly address: string
  readonly #folder: string
  readonly #place: ClusterLocation
  readonly #values: Values
  #etcd: ManagedProcess | undefined
  #patroni: ManagedProcess | undefined

  private constructor(address: string, folder: string, place: ClusterLocation, values: Values) {
    this.address = address
    this.#folder = folder
    this.#place = place
    this.#values = { ...values, NODE: address }
  }

  static async create(address: string, root: string, values: Values): Promise<DatabaseMachine> {
    const folder = join(root, address)
    await mkdir(folder, { mode: 0o711 })
    const place = await findClusterLocation(folder, () => {})
    if (place.user) await chown(folder, place.user.uid, place.user.gid)
    return new DatabaseMachine(address, folder, place, values)
  }

  /** Starts the programs that do not run, as systemd does. */
  async start(): Promise<void> {
    this.#etcd ??= this.#launch('etcd', [], {
      ...(parseEnv(fill('etcd.env', this.#values)) as Values),
      ETCD_DATA_DIR: join(this.#folder, 'etcd'),
    })
    if (this.#patroni) return
    const config = join(this.#folder, 'patroni.yml')
    await writeFile(config, fill('patroni.yml', this.#values))
    this.#patroni = this.#launch('patroni', [config], {
      PATRONI_POSTGRESQL_DATA_DIR: this.#place.cluster,
      PATRONI_POSTGRESQL_PGPASS: join(this.#folder, 'pgpass'),
    })
  }

  #launch(program: string, args: readonly string[], env: Values): ManagedProcess {
    const { user } = this.#place
    return startManagedProcess(program, args, {
      cwd: this.#folder,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', HOME: this.#folder, ...env },
      ...(user && { user }),
    })
  }

  /** Kills everything at once, as a machine that loses power. */
  async kill(): Promise<void> {
    if (this.#patroni) sendSignal(this.#patroni.pid, 'SIGSTOP') // so that it starts nothing
    await this.killPostgres()
    await Promise.all([this.killPatroni(), this.killEtcd()])
  }

  async killEtcd(): Promise<void> {
    await kill(this.#etcd)
    this.#etcd = undefined
  }

  /** Kills Patroni, whose PostgreSQL goes on: a primary that nobody controls. */
  async killPatroni(): Promise<void> {
    await kill(this.#patroni)
    this.#patroni = undefined
  }

  async killPostgres(): Promise<void> {
    const pid = await this.#postmaster()
    if (pid !== undefined) await killWithChildren(pid)
  }

  /** Makes another machine the primary, with the command that operators are given. */
  async switchOver(): Promise<void> {
    const config = join(this.#folder, 'patroni.yml')
    const [, command = ''] = /^(patronictl .* switchover .*)$/m.exec(GUIDE)!
    await run('sh', ['-c', command.replace('/etc/patroni/config.yml', config)])
  }

  async #postmaster(): Promise<number | undefined> {
    const file = join(this.#place.cluster, 'postmaster.pid')
    const [pid, folder] = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return folder && command.includes(folder) ? Number(pid) : undefined // else it is stale
  }

  async remove(): Promise<void> {
    await this.kill()
    await rm(this.#place.cluster, { recursive: true, force: true, maxRetries: 5 })
  }

  /** Last output of its programs. */
  tail(): string {
    return [this.#etcd, this.#patroni].map((each) => each?.tail().slice(-2_000)).join('\n')
  }
}

async function kill(program: ManagedProcess | undefined): Promise<void> {
  if (!program) return
  sendSignal(program.pid, 'SIGKILL')
  await program.exited
}

/** Member of the cluster, as Patroni's REST API lists it. */
interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly lag?: number | string
}

interface EtcdStatus {
  readonly leader: string
  readonly header: { readonly member_id: string }
}

/** Three machines with a database, and HAProxy of a fourth one, on which hubs run. */
export class PatroniCluster {
  readonly machines: readonly DatabaseMachine[]
  /** Connection string of the superuser to the database `postgres` of the primary. */
  readonly url: string
  /** Connection string of the replicas, without a login. */
  readonly replicaUrl: string
  readonly #folder: string
  readonly #proxyConfig: string
  #proxy: ManagedProcess | undefined

  private constructor(
    machines: readonly DatabaseMachine[],
    { folder, config, address }: Readonly<Record<'folder' | 'config' | 'address', string>>,
  ) {
    this.machines = machines
    this.#folder = folder
    this.#proxyConfig = config
    this.url = `postgres://postgres:${PASSWORD}@${address}:5432/postgres`
    this.replicaUrl = `postgres://${address}:5433`
  }

  static async start(): Promise<PatroniCluster> {
    const folder = await mkdtemp(
      join(process.env[CLUSTERS_FOLDER] ?? tmpdir(), 'agenthub-patroni-'),
    )
    await chmod(folder, 0o711)
    const network = `127.${100 + (process.pid % 100)}.${(process.pid >> 7) % 250}`
    const [hub, ...addresses] = [9, 1, 2, 3].map((host) => `${network}.${host}`)
    const [one = '', two = '', three = ''] = addresses
    const nodes = { NODE_1: one, NODE_2: two, NODE_3: three }
    const passwords = ['POSTGRES', 'REPLICATION', 'PATRONI'].map((of) => [
      `${of}_PASSWORD`,
      PASSWORD,
    ])
    const values = { ...nodes, ...Object.fromEntries(passwords) }
    const config = join(folder, 'haproxy.cfg')
    await writeFile(config, fill('haproxy.cfg', values).replaceAll('127.0.0.1', hub!))
    const machines = await Promise.all(
      addresses.map((address) => DatabaseMachine.create(address, folder, values)),
    )
    const cluster = new PatroniCluster(machines, { folder, config, address: hub! })
    try {
      await Promise.all(machines.map((each) => each.start()))
      cluster.startProxy()
      await cluster.untilWhole()
      return cluster
    } catch (error) {
      await cluster.remove()
      throw error
    }
  }

  startProxy(): void {
    this.#proxy = startManagedProcess('haproxy', ['-db', '-f', this.#proxyConfig], {
      env: { PATH: '/usr/sbin:/usr/bin' },
    })
  }

  async killProxy(): Promise<void> {
    await kill(this.#proxy)
  }

  async #members(): Promise<readonly Member[]> {
    for (const { address } of this.machines) {
      const state = await fetchJson<{ members: Member[] }>(`http://${address}:8008/cluster`)
      if (state) return state.members
    }
    return []
  }

  /** Returns the machine with a role; undefined while there is none. */
  async machineOf(role: 'leader' | 'sync_standby'): Promise<DatabaseMachine | undefined> {
    const found = (await this.#members()).find((each) => each.role === role)
    return this.machines.find(({ address }) => address === found?.name)
  }

  /** Returns the machine of the leader of etcd; undefined while there is none. */
  async etcdLeader(): Promise<DatabaseMachine | undefined> {
    for (const machine of this.machines) {
      const url = `http://${machine.address}:2379/v3/maintenance/status`
      const status = await fetchJson<EtcdStatus>(url, { method: 'POST', body: '{}' })
      if (status && status.leader === status.header.member_id) return machine
    }
    return undefined
  }

  /** Waits until a primary, a synchronous standby and another replica run. */
  async untilWhole(): Promise<void> {
    let members: readonly Member[] = []
    for (const end = elapsedMs() + READY_MS; elapsedMs() < end; await sleep(250)) {
      members = await this.#members()
      const roles = members.filter(isStreaming).map(({ role }) => role)
      if (roles.sort().join() === 'leader,replica,sync_standby') return
    }
    const output = this.machines.map((each) => each.tail()).join('\n')
    throw new Error(`the cluster is not whole: ${JSON.stringify(members)}\n${output}`)
  }

  async remove(): Promise<void> {
    await this.killProxy()
    await Promise.all(this.machines.map((each) => each.remove()))
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const isStreaming = ({ role, state, lag }: Member): boolean =>
  /running|streaming/.test(state) && (role === 'leader' || typeof lag === 'number')
