import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { HubOrder } from './hub-process.ts'
import { unexpected } from './venue.ts'

const PROGRAM = new URL('./hub-process.ts', import.meta.url).pathname
const TAIL = 4_000

/** A hub that is killed and started again. */
export class KilledHub {
  /** Where it listens now; changes with every start. */
  url = ''
  /** Ends that nobody asked for, and errors that nobody expected. */
  readonly faults: string[] = []
  readonly #order: HubOrder
  #child: ChildProcess | undefined

  constructor(order: HubOrder) {
    this.#order = order
  }

  /** Starts it, and waits until it serves. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(this.#order)], {
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    let errors = ''
    createInterface({ input: child.stderr }).on('line', (line) => {
      errors = `${errors}${line}\n`.slice(-TAIL)
      this.faults.push(...unexpected(line))
    })
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.faults.push(`the hub ended (${code ?? signal}): ${errors}`)
    })
    const ready = once(createInterface({ input: child.stdout }), 'line')
    const line = await Promise.race([ready, once(child, 'exit').then(() => undefined)])
    if (!line) throw new Error(`the hub did not start: ${errors}`)
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
