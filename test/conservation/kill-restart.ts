import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { internalErrors } from './hub-environment.ts'

const STDERR_TAIL_CHARS = 4_000

/** Program that tests kill and restart. It prints its URL on one line when it is ready. */
export class RestartableProgram {
  /** URL that it printed last. */
  url = ''
  /** Unrequested exits and logged internal errors. */
  readonly errors: string[] = []
  readonly #program: string
  readonly #options: object
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | undefined

  /** @param options passed to the program as JSON in its first argument */
  constructor(program: URL, options: object, env: Readonly<Record<string, string>> = {}) {
    this.#program = program.pathname
    this.#options = options
    this.#env = env
  }

  /** Process id; undefined while it is stopped. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Starts the process and waits until it accepts requests. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.#program, JSON.stringify(this.#options)], {
      env: { PATH: '/usr/bin:/bin', ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    let stderr = ''
    createInterface({ input: child.stderr }).on('line', (line) => {
      stderr = `${stderr}${line}\n`.slice(-STDERR_TAIL_CHARS)
      this.errors.push(...internalErrors(line))
    })
    let isReady = false
    child.once('exit', (code, signal) => {
      if (this.#child === child && isReady)
        this.errors.push(`the hub exited (${code ?? signal}): ${stderr}`)
    })
    const ready = once(createInterface({ input: child.stdout }), 'line')
    const line = await Promise.race([ready, once(child, 'exit').then(() => undefined)])
    if (!line) {
      if (this.#child === child) this.#child = undefined
      throw new Error(`the hub did not start: ${stderr}`)
    }
    isReady = true
    this.url = String(line[0])
  }

  /** Ends the process and waits for its exit. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }
}
