import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry } from 'prom-client'
import { elapsedMs, sleep, unrefSleep, withTimeout } from '../../core/clock.ts'
import { type Config, ConfigError } from '../../core/config.ts'
import type { Log } from '../../core/log.ts'
import { reachableHost } from '../http/listen.ts'
import type { Meters } from '../observability/meters.ts'
import type { SandboxPlace } from '../sandbox/start.ts'
import { type RunningHub, type StartOptions, startHub } from './start.ts'

/**
 * Several processes on one port. The first one has the jobs and the sandbox, and opens no door; the
 * others, its workers, have the doors. They share nothing but the database, and Redis if there is
 * one, so that processes on other machines are no different.
 */

/** What a worker says to the first process. */
type Said =
  | { readonly hub: 'hello' }
  | { readonly hub: 'ready'; readonly port: number }
  | { readonly hub: 'failed'; readonly message: string; readonly misconfigured: boolean }
  | { readonly hub: 'counted?'; readonly question: number }

/** What it is told. */
type Told =
  | { readonly hub: 'place'; readonly sandbox: SandboxPlace | undefined }
  | { readonly hub: 'counted'; readonly question: number; readonly text: string }

/** Before a worker that died is replaced, by how many died in the last minute. */
const BACK_OFF_MS = [100, 1_000, 5_000, 15_000] as const
const RECENT_MS = 60_000
/** What a worker needs beside the drain itself: to write what is still to be written. */
const STOP_MS = 5_000

/**
 * Starts the first process and its workers; a worker that dies is replaced.
 * @throws ConfigError as `startHub` does, also for a worker that cannot start at first
 */
export async function startWorkers(options: StartOptions): Promise<RunningHub> {
  const { config, log } = options
  const running = await startHub({ ...options, doors: false })
  const crew = new Crew(config, log, running.sandbox)
  try {
    const port = await crew.start()
    const address = `http://${reachableHost(config.host)}:${port}`
    const stop = async (): Promise<void> => {
      await crew.stop()
      await running.stop()
    }
    return { ...running, url: config.baseUrl ?? address, stop }
  } catch (error) {
    await crew.stop()
    await running.stop()
    throw error
  }
}

/** The workers, as the first process sees them. */
class Crew {
  readonly #config: Config
  readonly #log: Log
  readonly #sandbox: SandboxPlace | undefined
  readonly #counted = new AggregatorRegistry()
  #deaths: number[] = []
  #stopping = false

  constructor(config: Config, log: Log, sandbox: SandboxPlace | undefined) {
    this.#config = config
    this.#log = log
    this.#sandbox = sandbox && {
      databaseUrl: sandbox.databaseUrl,
      rpcUrl: sandbox.rpcUrl,
      sellerPort: sandbox.sellerPort,
      magazinePort: sandbox.magazinePort,
    }
  }

  /**
   * All accept from one socket: a connection that is passed on by the first process is lost, and
   * its caller waits for ever, when the worker dies at that moment.
   * @returns the port that all listen on
   */
  async start(): Promise<number> {
    cluster.schedulingPolicy = cluster.SCHED_NONE
    const { workers } = this.#config
    const [port] = await Promise.all(Array.from({ length: workers }, () => this.#fork()))
    return port!
  }

  /** Has every worker finish what it is at; who takes too long is killed. */
  async stop(): Promise<void> {
    this.#stopping = true
    const { delaySeconds: delay, graceSeconds: grace } = this.#config.drain
    const workers = Object.values(cluster.workers ?? {}).filter((each) => each !== undefined)
    const ends = workers.map(async (worker) => {
      if (worker.isDead()) return
      const end = once(worker.process, 'exit')
      worker.process.kill('SIGTERM')
      await Promise.race([end, unrefSleep((delay + grace) * 1_000 + STOP_MS)])
      if (worker.isDead()) return
      worker.process.kill('SIGKILL')
      await end
    })
    await Promise.all(ends)
  }

  async #fork(): Promise<number> {
    const worker = cluster.fork()
    const port = await new Promise<number>((resolve, reject) => {
      worker.on('message', (said: Said) => {
        if (said.hub === 'hello') this.#place(worker)
        else if (said.hub === 'counted?') void this.#tellCounted(worker, said.question)
        else if (said.hub === 'ready') resolve(said.port)
        else if (said.hub === 'failed') {
          reject(said.misconfigured ? new ConfigError(said.message) : new Error(said.message))
        }
      })
      worker.once('exit', (code, signal) => {
        reject(new Error(`a worker ended before it was ready (${signal ?? code})`))
      })
    })
    this.#watch(worker)
    return port
  }

  #watch(worker: Worker): void {
    const replace = (code: number | null, signal: string | null): void => {
      if (this.#stopping) return
      this.#log.warn({ worker: worker.process.pid, code, signal }, 'a worker ended')
      void this.#replace()
    }
    if (worker.isDead()) replace(worker.process.exitCode, worker.process.signalCode)
    else worker.once('exit', replace)
  }

  /** Tries until there is one again. */
  async #replace(): Promise<void> {
    const now = elapsedMs()
    this.#deaths = [...this.#deaths.filter((at) => now - at < RECENT_MS), now]
    await sleep(BACK_OFF_MS[this.#deaths.length - 1] ?? BACK_OFF_MS.at(-1)!)
    if (this.#stopping) return
    await this.#fork().catch((error: unknown) => {
      if (this.#stopping) return
      this.#log.error({ err: error }, 'a worker could not be replaced yet')
      void this.#replace()
    })
  }

  #place(worker: Worker): void {
    worker.send({ hub: 'place', sandbox: this.#sandbox } satisfies Told, () => {})
  }

  async #tellCounted(worker: Worker, question: number): Promise<void> {
    const text = await this.#counted.clusterMetrics().catch(() => '')
    if (worker.isConnected())
      worker.send({ hub: 'counted', question, text } satisfies Told, () => {})
  }
}

/** Whether this process is a worker: then it is to `work`. */
export const isWorker = (): boolean => cluster.isWorker

/**
 * Opens the doors in a worker, until it is told to stop.
 * @returns the exit code
 */
export async function work(options: StartOptions, stopped: Promise<unknown>): Promise<number> {
  const first = new FirstProcess()
  try {
    const place = await first.place()
    const config = { ...options.config, jobs: false }
    const together = (meters: Meters) => first.together(meters)
    const running = await startHub({ ...options, config, place, together })
    await first.tell({ hub: 'ready', port: running.port })
    await stopped
    await running.stop()
    return 0
  } catch (error) {
    const { message } = error as Error
    await first.tell({ hub: 'failed', message, misconfigured: error instanceof ConfigError })
    return 1
  }
}

const ANSWER_MS = 5_500

/** The first process, as a worker sees it. */
class FirstProcess {
  /** Answers the first process when it collects. */
  readonly counted = new AggregatorRegistry()
  readonly #answers = new Map<number, (text: string) => void>()
  #questions = 0

  constructor() {
    AggregatorRegistry.setRegistries([])
    process.on('message', (told: Told) => {
      if (told.hub === 'counted') this.#answers.get(told.question)?.(told.text)
    })
  }

  tell(said: Said): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send?.(said, () => resolve())
      else resolve()
    })
  }

  async place(): Promise<SandboxPlace | undefined> {
    const told = new Promise<SandboxPlace | undefined>((resolve) => {
      process.on('message', (message: Told) => {
        if (message.hub === 'place') resolve(message.sandbox)
      })
    })
    await this.tell({ hub: 'hello' })
    return told
  }

  /** What all workers have counted, whichever of them is asked. */
  together(meters: Meters): () => Promise<string> {
    AggregatorRegistry.setRegistries([...meters.registries])
    return async () => {
      const question = ++this.#questions
      const told = new Promise<string>((resolve) => this.#answers.set(question, resolve))
      await this.tell({ hub: 'counted?', question })
      const text = await withTimeout(ANSWER_MS, told)
      this.#answers.delete(question)
      return text ?? meters.text()
    }
  }
}
