import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { internalErrors } from './hub-environment.ts'
import type { HubProcessOptions } from './hub-process.ts'

const PROGRAM = new URL('./hub-process.ts', import.meta.url).pathname
const STDERR_TAIL_CHARS = 4_000

/** Hub process that tests kill and restart. */
export class RestartableHub {
  /** Current base URL; changes with every start. */
  url = ''
  /** Unrequested exits and logged internal errors. */
  readonly errors: string[] = []
  readonly #options: HubProcessOptions
  #child: ChildProcess | undefined

  constructor(options: HubProcessOptions) {
    this.#options = options
  }

  /** Starts the process and waits until it accepts requests. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(this.#options)], {
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    let stderr = ''
    createInterface({ input: child.stderr }).on('line', (line) => {
      stderr = `${stderr}${line}\n`.slice(-STDERR_TAIL_CHARS)
      this.errors.push(...internalErrors(line))
    })
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.errors.push(`the hub exited (${code ?? signal}): ${stderr}`)
    })
    const ready = once(createInterface({ input: child.stdout }), 'line')
    const line = await Promise.race([ready, once(child, 'exit').then(() => undefined)])
    if (!line) throw new Error(`the hub did not start: ${stderr}`)
    this.url = String(line[0])
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
}
