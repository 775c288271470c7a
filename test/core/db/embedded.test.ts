import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { startEmbedded } from '../../../core/db/embedded.ts'
import { joinDatabase, openDatabase } from '../../../core/db/open.ts'
import { createPool } from '../../../core/db/pool.ts'
import { eventually } from '../../support/eventually.ts'
import { postmasterOf } from '../../support/postmaster.ts'

const run = promisify(execFile)
const root = process.getuid?.() === 0

/** The processes of the server of a data directory. */
async function serverProcesses(dataDir: string): Promise<number[]> {
  const postmaster = await postmasterOf(dataDir)
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,comm='])
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/))
  return rows
    .filter(([pid, parent]) => Number(pid) === postmaster || Number(parent) === postmaster)
    .filter(([, , command]) => command?.includes('postgres')) // the watcher ends later
    .map(([pid]) => Number(pid))
}

/** Returns the pids that still run, without zombies. */
async function living(pids: number[]): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,stat='])
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/))
  return rows
    .filter(([, state]) => state !== undefined && !state.startsWith('Z'))
    .map(([pid]) => Number(pid))
    .filter((pid) => pids.includes(pid))
}

async function expectGone(pids: number[]): Promise<void> {
  const deadline = elapsedMs() + 10_000
  while ((await living(pids)).length > 0 && elapsedMs() < deadline) await sleep(20)
  expect(await living(pids)).to.deep.equal([])
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const pool = createPool(url)
  const { rows } = await pool.query(sql)
  await pool.end()
  return rows
}

/** Opens the data directory in a process of its own. */
async function holdOpen(dataDir: string) {
  const hub = spawn(process.execPath, [join(import.meta.dirname, 'hold.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(hub, 'exit')
  let errors = ''
  hub.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const [line] = await once(hub.stdout, 'data')
  return {
    url: String(line).trim(),
    async kill(): Promise<void> {
      hub.kill('SIGKILL')
      await ended
    },
    /** Its exit code, and what it said. */
    async ended(): Promise<string> {
      const [code] = await ended
      return `${String(code)} ${errors}`
    },
  }
}

describe('the embedded PostgreSQL', function () {
  let dataDir: string

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await chmod(dataDir, 0o711)
  })
  after(() => rm(dataDir, { recursive: true }))

  it('preserves its data across a restart', async () => {
    const first = await openDatabase({ dataDir })
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n')
    await first.close()
    const second = await openDatabase({ dataDir })
    expect(await query(second.url, 'SELECT n FROM kept')).to.deep.equal([{ n: 1 }])
    await second.close()
  })

  it('is durable, uses UTF-8 and UTC, and requires the password', async () => {
    const server = await startEmbedded({ dataDir })
    const [row] = await query(
      server.url,
      `SELECT current_setting('fsync') AS fsync, current_setting('timezone') AS zone,
         current_setting('listen_addresses') AS listens, lower('ÄÖ') AS lower,
         pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = 'postgres'`,
    )
    expect(row).to.deep.equal({
      fsync: 'on',
      zone: 'UTC',
      listens: '127.0.0.1',
      lower: 'äö',
      encoding: 'UTF8',
    })
    const stranger = new URL(server.url)
    stranger.password = 'wrong'
    const failure = await query(stranger.href, 'SELECT 1').catch((error: Error) => error.message)
    expect(failure).to.equal('password authentication failed for user "postgres"')
    expect((await stat(join(dataDir, 'postgres.password'))).mode & 0o777).to.equal(0o600)
    await server.stop()
  })

  it('ends with a killed hub, and can be started again at once', async () => {
    const hub = await holdOpen(dataDir)
    await query(hub.url, 'CREATE TABLE survivor AS SELECT 2 AS n')
    const processes = await serverProcesses(dataDir)
    expect(processes).to.have.length.above(4)
    await hub.kill()
    const next = await openDatabase({ dataDir })
    expect(await query(next.url, 'SELECT n FROM survivor')).to.deep.equal([{ n: 2 }])
    await next.close()
    await expectGone(processes)
  })

  it('ends with a killed hub even if nothing starts again', async () => {
    const hub = await holdOpen(dataDir)
    const processes = await serverProcesses(dataDir)
    await hub.kill()
    await expectGone(processes)
  })

  it('refuses a second start on the same data, and names the process that uses it', async () => {
    const server = await startEmbedded({ dataDir })
    const failure = await startEmbedded({ dataDir }).catch((error: Error) => error.message)
    expect(failure).to.include(`${dataDir} is in use by process ${process.pid}. Stop that process`)
    expect(await query(server.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }])
    await server.stop()
  })

  it('is used by a command even if it responds slowly, as on a busy machine', async () => {
    const server = await startEmbedded({ dataDir, durable: false })
    const postmaster = await postmasterOf(dataDir)
    process.kill(postmaster, 'SIGSTOP')
    const joined = joinDatabase({ dataDir })
    try {
      await sleep(2_500) // longer than one attempt to connect
      process.kill(postmaster, 'SIGCONT')
      expect((await joined).adminUrl).to.equal(server.url)
    } finally {
      await server.stop()
    }
  })

  it('is restarted at the same address after a crash, with a warning', async () => {
    const logged: string[] = []
    const server = await startEmbedded({ dataDir, warn: (text) => logged.push(text) })
    await query(server.url, 'CREATE TABLE outlasting AS SELECT 4 AS n')
    const processes = await serverProcesses(dataDir)
    process.kill(await postmasterOf(dataDir), 'SIGKILL')
    await eventually(() => logged.length === 2)
    expect(logged[0]).to.match(/^PostgreSQL ended unexpectedly \(-1\)/)
    expect(logged[1]).to.equal('PostgreSQL was restarted.')
    expect(await query(server.url, 'SELECT n FROM outlasting')).to.deep.equal([{ n: 4 }])
    const next = await serverProcesses(dataDir)
    expect(await living(processes), 'of the one that died').to.deep.equal([])
    await server.stop()
    await expectGone(next)
  })

  it('can be stopped right after a crash', async () => {
    const server = await startEmbedded({ dataDir })
    process.kill(await postmasterOf(dataDir), 'SIGKILL')
    await server.stop()
    const again = await startEmbedded({ dataDir })
    await again.stop()
  })

  it('ends its process if it cannot be restarted', async () => {
    const hub = await holdOpen(dataDir)
    const version = join(dataDir, 'postgres/PG_VERSION')
    const right = await readFile(version, 'utf8')
    await writeFile(version, '12\n')
    process.kill(await postmasterOf(dataDir), 'SIGKILL')
    expect(await hub.ended()).to.match(/^1 .*keeps failing.*initialized by PostgreSQL version 12/s)
    await writeFile(version, right)
  })

  it("reports PostgreSQL's output if it does not start", async () => {
    await writeFile(join(dataDir, 'postgres/PG_VERSION'), '12\n')
    const failure = await startEmbedded({ dataDir }).catch((error: Error) => error.message)
    expect(failure).to.match(/^PostgreSQL did not start in .*initialized by PostgreSQL version 12/s)
  })

  it('as root in a private directory stores its cluster elsewhere', async function () {
    if (!root) return this.skip() // an ordinary user runs the server itself
    const closed = await mkdtemp(join(tmpdir(), 'agenthub-test-')) // mode 0700
    const inside = join(closed, 'data')
    const logged: string[] = []
    const first = await startEmbedded({ dataDir: inside, log: (text) => logged.push(text) })
    await query(first.url, 'CREATE TABLE kept AS SELECT 3 AS n')
    await first.stop()
    const cluster = await readlink(join(inside, 'postgres'))
    expect(cluster).to.match(/^\/var\/lib\/agenthub\/[0-9a-f]{8}-\w{6}\/postgres$/)
    expect(logged.join()).to.include(`the database is stored in ${cluster}`)
    const second = await startEmbedded({ dataDir: inside })
    expect(await query(second.url, 'SELECT n FROM kept')).to.deep.equal([{ n: 3 }])
    await second.stop()
    await rm(dirname(cluster), { recursive: true })
    const lost = await startEmbedded({ dataDir: inside }).catch((error: Error) => error.message)
    expect(lost).to.include('it may have been deleted')
    await rm(closed, { recursive: true })
  })
})
