import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../core/runtime/net.ts'
import { eventually } from './eventually.ts'

/** Path of the program on Debian. */
const PATH = '/usr/sbin:/usr/bin:/bin'
const NOBODY = 65_534

/** Real PgBouncer with transaction pooling. */
export interface PgBouncer {
  /** Returns a connection string through PgBouncer. */
  through(url: string): string
  stop(): Promise<void>
}

/** @param users logins and passwords; at most `poolSize` connections for each */
export async function startPgBouncer(
  server: string,
  users: Readonly<Record<string, string>>,
  poolSize: number,
): Promise<PgBouncer> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  await chmod(folder, 0o711)
  const file = (name: string): string => join(folder, name)
  const list = Object.entries(users).map(([name, password]) => `"${name}" "${password}"\n`)
  await writeFile(file('users.txt'), list.join(''), { mode: 0o644 })
  const settings = `[databases]
* = host=127.0.0.1 port=${new URL(server).port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${file('users.txt')}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 200
logfile = ${file('log.txt')}
`
  await writeFile(file('pgbouncer.ini'), settings, { mode: 0o644 })
  const isRoot = process.getuid?.() === 0 // PgBouncer refuses to run as root
  if (isRoot) await chown(folder, NOBODY, NOBODY)
  const child = spawn('pgbouncer', ['-q', file('pgbouncer.ini')], {
    env: { PATH },
    stdio: 'ignore',
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  })
  const exit = once(child, 'exit')
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`)
    return accepts(port)
  })
  return {
    through(url) {
      const other = new URL(url)
      other.port = String(port)
      return other.href
    },
    async stop() {
      child.kill('SIGKILL')
      await exit
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
