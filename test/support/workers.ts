import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import nock from 'nock'
import type { HubClient } from '../../core/client/index.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { COMPILED_CODE } from './compiled-code.ts'
import { postCredits, registerWallet } from './funded-agent.ts'
import { type FreshDatabase, freshDatabase, TEST_CLUSTER } from './postgres.ts'

const PROGRAM = new URL('./workers-process.ts', import.meta.url).pathname

/** Hub in child processes, as operators run it; workers-program.ts has its services. */
export class ProcessHub {
  readonly url: string
  readonly database: FreshDatabase
  /** Ledger on the hub's database. */
  readonly ledger: Ledger
  readonly child: ChildProcess
  readonly #dataDir: string
  readonly #log: string[]
  readonly #exit: Promise<unknown[]>

  private constructor(
    start: { readonly url: string; readonly database: FreshDatabase; readonly dataDir: string },
    child: ChildProcess,
    log: string[],
    exit: Promise<unknown[]>,
  ) {
    this.url = start.url
    this.database = start.database
    this.ledger = new Ledger(start.database.pool)
    this.child = child
    this.#dataDir = start.dataDir
    this.#log = log
    this.#exit = exit
  }

  static async start(
    env: Readonly<Record<string, string>>,
    database?: FreshDatabase,
  ): Promise<ProcessHub> {
    nock.restore()
    const own = database ?? (await freshDatabase())
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await chmod(dataDir, 0o711)
    const places = { HUB_DATA_DIR: dataDir, NODE_COMPILE_CACHE: COMPILED_CODE }
    const fixed = { PATH: '/usr/bin:/bin', HUB_PORT: '0', ...places }
    const cluster = TEST_CLUSTER && { HUB_CLUSTER: TEST_CLUSTER }
    const child = spawn(process.execPath, [PROGRAM], {
      env: { ...fixed, ...cluster, DATABASE_URL: own.url, HUB_LOG_LEVEL: 'info', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log: string[] = []
    child.stderr.on('data', (chunk: Buffer) => log.push(chunk.toString()))
    const exit = once(child, 'exit')
    const ready = once(createInterface({ input: child.stdout }), 'line')
    const line = await Promise.race([ready, exit.then(() => undefined)])
    if (!line) {
      await own.drop()
      throw new Error(`the hub did not start: ${log.join('')}`)
    }
    const { url } = JSON.parse(String(line[0])) as { url: string }
    return new ProcessHub({ url, database: own, dataDir }, child, log, exit)
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** Log so far, as JSON lines. */
  get logged(): string {
    return this.#log.join('')
  }

  /** Creates a wallet with a key and `credits` microdollars. */
  async agent(credits = 0n): Promise<{ apiKey: string; keyId: string; client: HubClient }> {
    const made = await registerWallet(this.url)
    if (credits > 0n) await postCredits(this.ledger, made.keyId, credits)
    return made
  }

  balance(keyId: string): Promise<bigint> {
    return this.ledger.balance(creditsOf(keyId))
  }

  /** Resolves with exit code and signal when it has ended. */
  get ended(): Promise<unknown[]> {
    return this.#exit
  }

  /** @returns exit code and signal, once it has ended */
  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<unknown[]> {
    this.child.kill(name)
    return this.#exit
  }

  /** Stops the hub after checking that the ledger balances. */
  async close(): Promise<void> {
    try {
      if (this.child.exitCode === null && this.child.signalCode === null) {
        await this.signal('SIGTERM')
      }
      const { ok, checks } = await verifyLedger(this.database.pool)
      const bad = checks.filter((check) => Number(check.bad) !== 0).map(({ name }) => name)
      if (!ok) throw new Error(`the ledger does not balance: ${bad.join(', ')}`)
    } finally {
      await this.database.drop()
      await rm(this.#dataDir, { recursive: true, force: true, maxRetries: 5 })
      nock.activate()
    }
  }
}
