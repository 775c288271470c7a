import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { type ClusterLocation, findClusterLocation } from '../../../core/db/cluster-location.ts'
import { type ManagedProcess, startManagedProcess } from '../../../core/runtime/managed-process.ts'
import { killWithChildren, sendSignal } from './cluster.ts'

const run = promisify(execFile)

/** Files that operators are given; only names and passwords are replaced, as by `envsubst`. */
const KIT = 'server/deploy/high-availability'
const GUIDE = readFileSync('server/deploy/README.md', 'utf8')

/** Replacements of the names in the files of the kit. */
export type Values = Readonly<Record<string, string>>

/** Returns a file of the kit with its names replaced. */
export const fill = (file: string, values: Values): string =>
  readFileSync(join(KIT, file), 'utf8').replace(/\$\{(\w+)\}/g, (_, name) => values[name]!)

interface MachineOptions {
  readonly address: string
  readonly group?: number | undefined
}

/**
 * Machine with etcd (unless it is of a worker), Patroni and PostgreSQL: an address of the loopback
 * network.
 */
export class DatabaseMachine {
  readonly address: string
  /** Number of its group in a cluster of Citus, 0 for coordinators; undefined without Citus. */
  readonly group: number | undefined
  readonly #folder: string
  readonly #place: ClusterLocation
  readonly #values: Values
  #etcd: ManagedProcess | undefined
  #patroni: ManagedProcess | undefined

  private constructor(
    { address, group }: MachineOptions,
    folder: string,
    place: ClusterLocation,
    values: Values,
  ) {
    this.address = address
    this.group = group
    this.#folder = folder
    this.#place = place
    this.#values = { ...values, NODE: address }
  }

  static async create(
    options: MachineOptions,
    root: string,
    values: Values,
  ): Promise<DatabaseMachine> {
    const folder = join(root, options.address)
    await mkdir(folder, { mode: 0o711 })
    const place = await findClusterLocation(folder, () => {})
    if (place.user) await chown(folder, place.user.uid, place.user.gid)
    return new DatabaseMachine(options, folder, place, values)
  }

  /** Starts the programs that do not run, as systemd does. */
  async start(): Promise<void> {
    if (!this.group) this.#startEtcd()
    if (this.#patroni) return
    const config = join(this.#folder, 'patroni.yml')
    await writeFile(config, this.#patroniConfig())
    this.#patroni = this.#launch('patroni', [config], {
      PATRONI_POSTGRESQL_DATA_DIR: this.#place.cluster,
      PATRONI_POSTGRESQL_PGPASS: join(this.#folder, 'pgpass'),
    })
  }

  #startEtcd(): void {
    this.#etcd ??= this.#launch('etcd', [], {
      ...(parseEnv(fill('etcd.env', this.#values)) as Values),
      ETCD_DATA_DIR: join(this.#folder, 'etcd'),
    })
  }

  #patroniConfig(): string {
    const alone = fill('patroni.yml', this.#values)
    if (this.group === undefined) return alone
    const citus = fill('patroni-citus.yml', { ...this.#values, GROUP: String(this.group) })
    // Between nodes, authentication is left to operators.
    return alone.replace('host all all all scram-sha-256', 'host all all all trust') + citus
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
    const group = this.group === undefined ? '' : ` --group ${this.group}`
    await run('sh', ['-c', command.replace('/etc/patroni/config.yml', config) + group])
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

/** Kills a program, unless it does not run. */
export async function kill(program: ManagedProcess | undefined): Promise<void> {
  if (!program) return
  sendSignal(program.pid, 'SIGKILL')
  await program.exited
}
