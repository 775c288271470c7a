import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = new URL('../../support/hub-process.ts', import.meta.url).pathname

/** Hub in a child process on a given database, which tests kill and restart. */
export class HubProcess {
  /** Current base URL; changes with every start. */
  url = ''
  /** Unrequested exits. */
  readonly errors: string[] = []
  readonly #dataDir: string
  readonly #databaseUrl: string
  #child: ChildProcess | undefined

  private constructor(dataDir: string, databaseUrl: string) {
    this.#dataDir = dataDir
    this.#databaseUrl = databaseUrl
  }

  static async create(databaseUrl: string): Promise<HubProcess> {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-faults-'))
    await chmod(dataDir, 0o711)
    return new HubProcess(dataDir, databaseUrl)
  }

  /** Starts the process and waits until it accepts requests. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM], {
      env: {
        PATH: '/usr/bin:/bin',
        HUB_DATA_DIR: this.#dataDir,
        HUB_PORT: '0',
        DATABASE_URL: this.#databaseUrl,
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

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  async remove(): Promise<void> {
    await this.kill()
    await rm(this.#dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
}
