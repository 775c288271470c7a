import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = new URL('../../support/hub-process.ts', import.meta.url).pathname

/** The whole hub in a process of its own, on a database that is given; to be killed. */
export class HubProcess {
  /** Where it listens now; changes with every start. */
  url = ''
  /** Ends that nobody asked for. */
  readonly faults: string[] = []
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

  /** Starts it, and waits until it serves. */
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
    let errors = ''
    child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)))
    this.#child = child
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.faults.push(`the hub ended (${code ?? signal}): ${errors}`)
    })
    const ready = once(createInterface({ input: child.stdout }), 'line')
    const line = await Promise.race([ready, once(child, 'exit').then(() => undefined)])
    if (!line) throw new Error(`the hub did not start: ${errors}`)
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
