import { Agent, get } from 'node:http'
import { elapsedMs, sleep } from '../../core/clock.ts'

const PATH = '/livez'
const PAUSE_MS = 2

/** Asks once on a connection of its own. @returns the status, or the code of the error */
export const askLiveness = (port: number, agent?: Agent): Promise<number | string> =>
  new Promise((resolve) => {
    get({ port, host: '127.0.0.1', path: PATH, agent: agent ?? false }, (response) => {
      response.on('error', () => resolve('ECONNRESET'))
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })

/** Clients that send one request after another, half of them on connections that they keep. */
export class SteadyLoad {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true })
  readonly #clients: readonly Promise<void>[]
  readonly #counts = new Map<number | string, number>()
  #isStopped = false
  #answeredAt = elapsedMs()
  /** Longest time without a response, in milliseconds. */
  longestGapMs = 0

  constructor(port: number, clients = 8) {
    this.#port = port
    this.#clients = Array.from({ length: clients }, (_, i) => this.#run(i % 2 === 0))
  }

  count(result: number | string): number {
    return this.#counts.get(result) ?? 0
  }

  /** Results other than 200. */
  get failures(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].filter(([result]) => result !== 200))
  }

  /** Forgets what was counted. */
  reset(): void {
    this.#counts.clear()
    this.#answeredAt = elapsedMs()
    this.longestGapMs = 0
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#clients)
    this.#agent.destroy()
  }

  async #run(keeps: boolean): Promise<void> {
    while (!this.#isStopped) {
      const result = await askLiveness(this.#port, keeps ? this.#agent : undefined)
      this.#counts.set(result, this.count(result) + 1)
      if (result === 200) {
        const now = elapsedMs()
        this.longestGapMs = Math.max(this.longestGapMs, now - this.#answeredAt)
        this.#answeredAt = now
      }
      await sleep(PAUSE_MS)
    }
  }
}
