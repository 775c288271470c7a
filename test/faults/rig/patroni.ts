import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { type ManagedProcess, startManagedProcess } from '../../../core/runtime/managed-process.ts'
import { CLUSTERS_FOLDER } from '../../support/postgres.ts'
import { DatabaseMachine, fill, kill } from './database-machine.ts'

const PASSWORD = 'a-password-of-a-test'
const READY_MS = 90_000
const REQUEST_MS = 2_000
/** Machines of each group: a primary, its synchronous standby, and another replica. */
const GROUP_SIZE = 3

/** Returns the JSON that a program responds with; undefined if it does not respond. */
async function fetchJson<T>(url: string, init: RequestInit = {}): Promise<T | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) })
    return (await response.json()) as T
  } catch {
    return undefined
  }
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

/**
 * Three machines with a database, and HAProxy of another one, on which hubs run. With Citus, these
 * are the machines of the coordinator, and each worker has three more.
 */
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

  /** @param workers number of workers of Citus. @defaultValue one database without Citus */
  static async start(workers?: number): Promise<PatroniCluster> {
    const folder = await mkdtemp(
      join(process.env[CLUSTERS_FOLDER] ?? tmpdir(), 'agenthub-patroni-'),
    )
    await chmod(folder, 0o711)
    const network = `127.${100 + (process.pid % 100)}.${(process.pid >> 7) % 250}`
    const hub = `${network}.99`
    const options = Array.from({ length: GROUP_SIZE * (1 + (workers ?? 0)) }, (_, i) => ({
      address: `${network}.${i + 1}`,
      group: workers === undefined ? undefined : Math.floor(i / GROUP_SIZE),
    }))
    const [one = '', two = '', three = ''] = options.map(({ address }) => address)
    const nodes = { NODE_1: one, NODE_2: two, NODE_3: three }
    const passwords = ['POSTGRES', 'REPLICATION', 'PATRONI'].map((of) => [
      `${of}_PASSWORD`,
      PASSWORD,
    ])
    const values = { ...nodes, ...Object.fromEntries(passwords) }
    const config = join(folder, 'haproxy.cfg')
    await writeFile(config, fill('haproxy.cfg', values).replaceAll('127.0.0.1', hub))
    const machines = await Promise.all(
      options.map((each) => DatabaseMachine.create(each, folder, values)),
    )
    const cluster = new PatroniCluster(machines, { folder, config, address: hub })
    try {
      cluster.startProxy()
      await cluster.repair()
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

  async #members(group: number): Promise<readonly Member[]> {
    for (const { address } of this.#machinesOf(group)) {
      const state = await fetchJson<{ members: Member[] }>(`http://${address}:8008/cluster`)
      if (state) return state.members
    }
    return []
  }

  #machinesOf(group: number): readonly DatabaseMachine[] {
    return this.machines.slice(group * GROUP_SIZE, (group + 1) * GROUP_SIZE)
  }

  /** Returns the machine with a role in its group; undefined while there is none. */
  async machineOf(
    role: 'leader' | 'sync_standby',
    group = 0,
  ): Promise<DatabaseMachine | undefined> {
    const found = (await this.#members(group)).find((each) => each.role === role)
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

  /** Starts what does not run, and waits until each group has all roles. */
  async repair(): Promise<void> {
    await Promise.all(this.machines.map((each) => each.start()))
    await this.#untilWhole()
  }

  /** Waits until a primary, a synchronous standby and another replica of each group run. */
  async #untilWhole(): Promise<void> {
    for (let group = 0; group < this.machines.length / GROUP_SIZE; group++) {
      await this.#untilGroupIsWhole(group)
    }
  }

  async #untilGroupIsWhole(group: number): Promise<void> {
    let members: readonly Member[] = []
    for (const end = elapsedMs() + READY_MS; elapsedMs() < end; await sleep(250)) {
      members = await this.#members(group)
      const roles = members.filter(isStreaming).map(({ role }) => role)
      if (roles.sort().join() === 'leader,replica,sync_standby') return
    }
    const output = this.#machinesOf(group)
      .map((each) => each.tail())
      .join('\n')
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
