import { access, chown, constants, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sleep } from '../clock.ts'
import type { ClusterLocation } from '../db/cluster-location.ts'
import { findPrograms, majorOfPackage } from '../db/programs.ts'
import { ConfigError } from '../runtime/config-error.ts'
import { startManagedProcess } from '../runtime/managed-process.ts'
import { canRead } from '../runtime/user.ts'
import type { Manifest } from './manifest.ts'

/** Archive of the write-ahead log, to recover changes after the base backup. */
export interface LogArchive {
  /** Folder of its segments, as `archive_command` or `pg_receivewal` wrote them. */
  readonly folder: string
  /** Instant up to which changes are recovered. @defaultValue the end of the archive */
  readonly until?: Date | undefined
}

export interface RecoveryOptions {
  readonly archive?: LogArchive | undefined
  /** True if the cluster is deleted afterwards, so that nothing is synchronized to disk. */
  readonly isDisposable?: boolean
}

/** Temporary server on a restored cluster; only this process can connect. */
export interface RestoredServer extends AsyncDisposable {
  /** Superuser connection string of the hub's database. */
  readonly url: string
}

const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const READY = 'database system is ready to accept connections'
const POLL_MS = 20

/**
 * Starts PostgreSQL on a restored cluster, which recovers it to a consistent state. It listens on a
 * socket in a private folder, without a password, because that of the superuser may be unknown.
 * @throws ConfigError if there are no programs of its version, the log archive cannot be read, or
 * the cluster cannot be recovered
 */
export async function startRestored(
  { cluster, user }: ClusterLocation,
  { postgres, database }: Pick<Manifest, 'postgres' | 'database'>,
  options: RecoveryOptions = {},
): Promise<RestoredServer> {
  const { archive } = options
  const program = await findProgram(postgres.major, user)
  if (archive) await assertReadable(resolve(archive.folder), user)
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-restore-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const file = (name: string) => join(folder, name)
    await writeFile(file('postgresql.conf'), settings(cluster, folder, options))
    await writeFile(file('pg_hba.conf'), 'local all all trust\n')
    await writeFile(file('pg_ident.conf'), '')
    if (archive) await writeFile(join(cluster, 'recovery.signal'), '')
    const paths = ['', 'postgresql.conf', 'pg_hba.conf', 'pg_ident.conf'].map(file)
    const signal = archive ? [join(cluster, 'recovery.signal')] : []
    if (user) {
      await Promise.all([...paths, ...signal].map((path) => chown(path, user.uid, user.gid)))
    }
    const args = ['-D', cluster, '-c', `config_file=${file('postgresql.conf')}`]
    const server = startManagedProcess(program, args, { cwd: '/', env: ENVIRONMENT, ...ids(user) })
    const stop = async () => {
      await server.stop(60_000)
      await remove()
    }
    const ended = server.exited.then(() => true)
    while (!server.tail().includes(READY)) {
      if (!(await Promise.race([ended, sleep(POLL_MS).then(() => false)]))) continue
      throw new ConfigError(`The restored database does not start:\n${server.tail()}`)
    }
    const login = encodeURIComponent(postgres.superuser)
    const name = encodeURIComponent(database)
    const url = `postgres://${login}@localhost:5432/${name}?host=${encodeURIComponent(folder)}`
    return { url, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Other files have longer or shorter names: parts of a segment, histories, backup labels. */
const SEGMENT_NAME_LENGTH = 24

/** PostgreSQL takes a segment that it cannot read for the end of the log. @throws ConfigError */
async function assertReadable(folder: string, user: ClusterLocation['user']): Promise<void> {
  const names = await readdir(folder).catch((): string[] => [])
  const segment = names.find(({ length }) => length === SEGMENT_NAME_LENGTH)
  const canReadIt = (file: string): Promise<boolean> =>
    user ? canRead(user, file) : isAccessible(file, constants.R_OK)
  if (segment !== undefined && (await canReadIt(join(folder, segment)))) return
  throw new ConfigError(
    `${folder} has no log segment that ${user ? `the user ${user.name}` : 'this user'} can read.`,
  )
}

const isAccessible = (path: string, mode = constants.F_OK): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

const ids = (user: ClusterLocation['user']) =>
  user ? { user: { uid: user.uid, gid: user.gid } } : {}

/** A configuration of its own: that of Debian's servers is outside of the cluster. */
function settings(
  cluster: string,
  folder: string,
  { archive, isDisposable = false }: RecoveryOptions,
): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
  const shell = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
  /** Path in a command that PostgreSQL runs in the folder of the cluster. */
  const inCommand = (path: string): string => shell(resolve(path).replaceAll('%', '%%'))
  const recovery = archive
    ? {
        restore_command: quoted(`cp ${inCommand(archive.folder)}/%f "%p"`),
        recovery_target_action: 'promote',
        hot_standby: 'off',
        ...(archive.until && { recovery_target_time: quoted(timestamp(archive.until)) }),
      }
    : {}
  const all = {
    data_directory: quoted(cluster),
    hba_file: quoted(join(folder, 'pg_hba.conf')),
    ident_file: quoted(join(folder, 'pg_ident.conf')),
    external_pid_file: quoted(''),
    listen_addresses: quoted(''),
    unix_socket_directories: quoted(folder),
    archive_mode: 'off',
    max_wal_size: '2GB',
    fsync: isDisposable ? 'off' : 'on',
    recovery_init_sync_method: process.platform === 'linux' ? 'syncfs' : 'fsync',
    timezone: quoted('UTC'),
    lc_messages: quoted('C'),
    ...recovery,
  }
  return Object.entries(all)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')
}

/** PostgreSQL's own form: while it reads its configuration, it knows no `Z`. */
const timestamp = (at: Date): string => at.toISOString().replace('T', ' ').replace('Z', '+00')

/** Finds `postgres` of a major version: that of the npm package, else that of the system. */
async function findProgram(major: number, user: ClusterLocation['user']): Promise<string> {
  if ((await majorOfPackage()) === major) return (await findPrograms(user, () => {})).postgres
  const places = [`/usr/lib/postgresql/${major}/bin`, `/usr/pgsql-${major}/bin`]
  for (const place of places) {
    const program = join(place, 'postgres')
    if (await isAccessible(program)) return program
  }
  throw new ConfigError(
    `The backup is of PostgreSQL ${major}, whose programs are not on this machine. Install its ` +
      `server package (Debian: postgresql-${major}), or restore without --verify.`,
  )
}
