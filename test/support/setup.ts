import { chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import nock from 'nock'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { COMPILED_CODE } from './compiled-code.ts'
import {
  assertAllDropped,
  CLUSTERS_FOLDER,
  prepareTemplate,
  stopSharedCluster,
  TEST_CLUSTER,
} from './postgres.ts'
import { findProgramsOf, SERVER_VERSION } from './server-of-version.ts'

/** Maximum time for a server to stop after its test process has ended. */
const STOP_MS = 15_000

/** Maximum time to distribute the ledger of the template. */
const DISTRIBUTION_MS = 600_000

// Workers report failed assertions to the main process as JSON, which has no bigints.
const send = process.send?.bind(process)
if (send) process.send = (message: object) => send(withoutBigints(message))

/** Blocks the network except loopback. */
export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    nock.disableNetConnect()
    nock.enableNetConnect(/^(127\.0\.0\.1|localhost|\[::1\])/)
    if (TEST_CLUSTER === undefined) return
    this.timeout(DISTRIBUTION_MS)
    await prepareTemplate()
  },
  afterEach(): void {
    const pending = nock.pendingMocks()
    nock.cleanAll()
    if (pending.length > 0) throw new Error(`unused mocks: ${pending.join(', ')}`)
  },
  afterAll(): void {
    assertAllDropped()
  },
}

/**
 * Test files run in several processes, each with its own database server in this folder. What Node
 * compiles for one of them, or for a process that a test starts, it need not compile for another.
 */
export async function mochaGlobalSetup(): Promise<void> {
  process.env['NODE_COMPILE_CACHE'] ??= COMPILED_CODE
  const folder = await mkdtemp(join(await placeOfClusters(), 'agenthub-tests-'))
  await chmod(folder, 0o711) // root runs the servers as another user
  process.env[CLUSTERS_FOLDER] = folder
  const version = process.env[SERVER_VERSION]
  if (version) await findProgramsOf(version) // before several processes install the same package
}

/** File system in memory, of Linux: databases are created and deleted much faster. */
const MEMORY = '/dev/shm'
const MIN_BYTES = 4 * 1024 ** 3

/** Returns the folder of databases, which no test needs after a crash of the machine. */
async function placeOfClusters(): Promise<string> {
  const room = await statfs(MEMORY).catch(() => undefined)
  return room && room.bavail * room.bsize >= MIN_BYTES ? MEMORY : tmpdir()
}

/** Servers of other processes stop on their own after these have ended. */
export async function mochaGlobalTeardown(): Promise<void> {
  await stopSharedCluster()
  const folder = process.env[CLUSTERS_FOLDER]!
  const deadline = elapsedMs() + STOP_MS
  while (elapsedMs() < deadline && (await anyRuns(folder))) await sleep(100)
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

async function anyRuns(folder: string): Promise<boolean> {
  const files = await readdir(folder, { recursive: true })
  return files.some((file) => file.endsWith('postmaster.pid'))
}

function withoutBigints(message: object): object {
  const json = JSON.stringify(message, (_name, value) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
  return JSON.parse(json)
}
