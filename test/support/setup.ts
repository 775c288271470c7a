import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from 'mocha'
import nock from 'nock'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { assertAllDropped, CLUSTERS_FOLDER, stopSharedCluster } from './postgres.ts'

const LEDGER = join('test', 'core', 'ledger')

/** How long a server whose test process has ended may take to stop. */
const STOP_MS = 15_000

/** No test reaches the network: only loopback is open. */
export const mochaHooks = {
  beforeAll(): void {
    nock.disableNetConnect()
    nock.enableNetConnect(/^(127\.0\.0\.1|localhost|\[::1\])/)
  },
  /**
   * A machine of CI may stand still for seconds, so there a test has a second try, and the reporter
   * tells of it. Not so the ledger's: what fails once of them is a fault.
   */
  beforeEach(this: Context): void {
    const { currentTest: test } = this
    if (process.env['CI'] && test && !test.file?.includes(LEDGER)) test.retries(1)
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

/** Files are tested in several processes, each with a database server of its own in this folder. */
export async function mochaGlobalSetup(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-tests-'))
  await chmod(folder, 0o711) // root runs the servers as another user
  process.env[CLUSTERS_FOLDER] = folder
}

/** The servers of the other processes stop by themselves once these have ended. */
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
