import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = 'test/support/hub-process.ts'
const THIS_VERSION = join(import.meta.dirname, '../../..')

/** Hub in a child process on a given database, which tests kill and restart. */
export class HubProcess {
  /** Current base URL; changes with every start. */
  url = ''
  /** Unrequested exits. */
  readonly errors: string[] = []
  readonly #dataDir: string
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | undefined

  private constructor(dataDir: string, env: Readonly<Record<string, string>>) {
    this.#dataDir = dataDir
    this.#env = env
  }

  static async create(
    databaseUrl: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<HubProcess> {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-faults-'))
    await chmod(dataDir, 0o711)
    return new HubProcess(dataDir, { DATABASE_URL: databaseUrl, ...env })
  }

  /**
   * Starts the process and waits until it accepts requests.
   * @param folder root of the version that it runs @defaultValue this one
   */
  async start(folder = THIS_VERSION): Promise<void> {
    const child = spawn(process.execPath, [join(folder, PROGRAM)], {
      cwd: folder,
      env: {
        PATH: '/usr/bin:/bin',
        HUB_DATA_DIR: this.#dataDir,
        HUB_PORT: '0',
        ...this.#env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-2_000)))
    this.#child = child
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.errors.push(`the hub ended (${code ?? signal}): ${stderr}`)
    })
    const ready = once(createInterface({ input: child.stdout }), 'line')
    const line = await Promise.race([ready, once(child, 'exit').then(() => undefined)])
    if (!line) throw new Error(`the hub did not start: ${stderr}`)
    this.url = (JSON.parse(String(line[0])) as { url: string }).url
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Drains the process, as an operator stops it. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  async remove(): Promise<void> {
    await this.kill()
    await rm(this.#dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
}
