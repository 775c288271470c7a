import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '../../core/clock.ts'
import { COMPILED_CODE } from './compiled-code.ts'
import { askLiveness } from './steady-load.ts'

const PROGRAM = join(import.meta.dirname, 'workers-process.ts')
/** Starts a program with the listening socket in descriptor 3, as systemd does. */
const PASS_SOCKET = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"'
const POLL_MS = 10

/** Key that all processes of one test share, because each has a data directory of its own. */
const signingKey = generateKeyPairSync('ed25519')
  .privateKey.export({ type: 'pkcs8', format: 'der' })
  .toString('base64')

interface ServingOptions {
  readonly port: number
  readonly env?: Readonly<Record<string, string>>
  /** Listening socket to pass on. */
  readonly fd?: number
}

/** Hub in a process that tests restart, with the compiled code that `server/main.ts` stores. */
export class ServingProcess {
  readonly #options: ServingOptions
  readonly #dataDir: string
  #child: ChildProcess | undefined
  #stderr = ''

  private constructor(options: ServingOptions, dataDir: string) {
    this.#options = options
    this.#dataDir = dataDir
  }

  static async create(options: ServingOptions): Promise<ServingProcess> {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await chmod(dataDir, 0o711) // PostgreSQL runs as another user
    return new ServingProcess(options, dataDir)
  }

  get pid(): number {
    return this.#child?.pid ?? -1
  }

  launch(): void {
    const { port, env, fd } = this.#options
    const program: [string, string] = [process.execPath, PROGRAM]
    const [command, ...args] = fd === undefined ? program : ['sh', '-c', PASS_SOCKET, ...program]
    const child = spawn(command, args, {
      env: {
        PATH: '/usr/bin:/bin',
        HUB_DATA_DIR: this.#dataDir,
        HUB_PORT: String(port),
        HUB_SIGNING_KEY: signingKey,
        HUB_LOG_LEVEL: 'error',
        NODE_COMPILE_CACHE: COMPILED_CODE,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe', ...(fd === undefined ? [] : [fd])],
    })
    child.stdout!.resume()
    child.stderr!.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()))
    this.#child = child
  }

  /** Launches the process and waits until all of it is started. */
  async start(): Promise<void> {
    this.launch()
    const ready = once(this.#child!.stdout!, 'data').then(() => true)
    const ended = once(this.#child!, 'exit').then(() => false)
    if (!(await Promise.race([ready, ended]))) {
      throw new Error(`the hub did not start: ${this.#stderr}`)
    }
  }

  /** Launches the process and waits until the port responds. */
  async serve(): Promise<void> {
    this.launch()
    while ((await askLiveness(this.#options.port)) !== 200) await sleep(POLL_MS)
  }

  /** @returns exit code and signal */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown[]> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return []
    const exit = once(child, 'exit')
    child.kill(signal)
    return exit
  }

  async remove(): Promise<void> {
    await this.end('SIGTERM')
    await rm(this.#dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 })
  }
}
