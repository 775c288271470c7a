import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry } from 'prom-client'
import { elapsedMs, sleep, unrefSleep, withTimeout } from '../../core/clock.ts'
import { type Config, ConfigError } from '../../core/config.ts'
import { ProcessLease } from '../../core/db/process-lease.ts'
import type { Log } from '../../core/log.ts'
import type { Meters } from '../observability/meters.ts'
import {
  countUnhandledError,
  type UnhandledErrors,
  unhandledErrorMetrics,
} from '../observability/unhandled-errors.ts'
import type { Sandbox, SandboxPlace } from '../sandbox/start.ts'
import { configureCluster, countEarly, forkWorker, sendTo } from './fork-workers.ts'
import { loadHub, type RunningHub, type Servers, type StartOptions, startHub } from './start.ts'
import type { PrimaryMessage, WorkerMessage } from './worker-messages.ts'

/**
 * Several processes on one port. The primary process runs the jobs and the sandbox and does not
 * listen; its workers serve requests. They share only the database, and Redis if configured, like
 * processes on other machines.
 */

/** Milliseconds before a worker is replaced, by the number of exits in the last minute. */
const BACK_OFF_MS = [100, 1_000, 5_000, 15_000] as const
const EXIT_WINDOW_MS = 60_000
/** Maximum milliseconds for a worker, beyond the drain, to flush pending writes. */
const STOP_MS = 5_000

/** Starts the primary process and its workers, which are replaced. @throws ConfigError */
export async function startWorkers(options: StartOptions): Promise<RunningHub> {
  const crew = new WorkerPool(options.config, options.log)
  try {
    const running = await startHub({ ...options, servers: crew })
    crew.endLease = (id) => ProcessLease.end(running.hub.pool, id)
    const stop = async (): Promise<void> => {
      await crew.stop()
      await running.stop()
    }
    return { ...running, stop }
  } catch (error) {
    await crew.stop()
    throw error
  }
}

type ReadyMessage = WorkerMessage & { readonly hub: 'ready' }

class WorkerPool implements Servers {
  readonly #config: Config
  readonly #log: Log
  readonly #ports: Promise<readonly number[]>
  readonly #sandbox = Promise.withResolvers<SandboxPlace | undefined>()
  readonly #prepared = Promise.withResolvers<void>()
  readonly #registry = new AggregatorRegistry()
  /** Workers that may listen: the others have nothing to drain. */
  readonly #listening = new WeakSet<Worker>()
  /**
   * Ends the lease of a dead worker once the database is open, so that others need not wait until
   * it expires.
   */
  endLease: (id: string) => Promise<void> = async () => {}
  /** Workers that are replaced before they exit. */
  readonly #failing = new WeakSet<Worker>()
  #exitTimes: number[] = []
  #stopping = false

  /** Starts the workers. They load their code while the primary process opens what they share. */
  constructor(config: Config, log: Log) {
    this.#config = config
    this.#log = log
    configureCluster(config.inheritsSocket)
    this.#ports = this.#forkAll()
    this.#ports.catch(() => {}) // `serve` reports it
  }

  open(sandbox: Sandbox | undefined): void {
    this.#sandbox.resolve(
      sandbox && {
        logins: sandbox.logins,
        rpcUrl: sandbox.rpcUrl,
        sellerPort: sandbox.sellerPort,
        networks: sandbox.networks,
        magazinePort: sandbox.magazinePort,
      },
    )
  }

  async listen(): Promise<number> {
    this.#prepared.resolve()
    const [port] = await this.#ports
    return port!
  }

  /** Stops all workers gracefully; kills those that take too long. */
  async stop(): Promise<void> {
    this.#stopping = true
    const { delaySeconds: delay, graceSeconds: grace } = this.#config.drain
    const workers = Object.values(cluster.workers ?? {}).filter((each) => each !== undefined)
    const ends = workers.map(async (worker) => {
      if (worker.isDead()) return
      const end = once(worker.process, 'exit')
      worker.process.kill(this.#listening.has(worker) ? 'SIGTERM' : 'SIGKILL')
      await Promise.race([end, unrefSleep((delay + grace) * 1_000 + STOP_MS)])
      if (worker.isDead()) return
      worker.process.kill('SIGKILL')
      await end
    })
    await Promise.all(ends)
  }

  /** Starts the workers, those beyond the processors only when the first ones serve. */
  async #forkAll(): Promise<readonly number[]> {
    const early = countEarly(this.#config.workers)
    const fork = (count: number) => Promise.all(Array.from({ length: count }, () => this.#fork()))
    const ports = await fork(early)
    if (!this.#stopping) await fork(this.#config.workers - early)
    return ports
  }

  async #fork(): Promise<number> {
    const { worker, missed } = forkWorker()
    const { port, lease } = await new Promise<ReadyMessage>((resolve, reject) => {
      worker.on('message', (message: WorkerMessage) => {
        if (message.hub === 'hello') void this.#sendSandboxPlace(worker)
        else if (message.hub === 'opened') void this.#letListen(worker)
        else if (message.hub === 'counted?') void this.#sendMetrics(worker, message.question)
        else if (message.hub === 'failing') this.#replaceFailing(worker, message.origin)
        else if (message.hub === 'ready') {
          this.#listening.add(worker)
          resolve(message)
        } else if (message.hub === 'failed') {
          reject(new (message.misconfigured ? ConfigError : Error)(message.message))
        }
      })
      worker.once('exit', (code, signal) => {
        reject(new Error(`a worker exited before it was ready (${signal ?? code})`))
      })
      for (const message of missed.splice(0)) worker.emit('message', message)
    })
    this.#watch(worker, lease)
    return port
  }

  /** Replaces a worker before it drains because of an unhandled error. */
  #replaceFailing(worker: Worker, origin: NodeJS.UncaughtExceptionOrigin): void {
    this.#failing.add(worker)
    countUnhandledError(origin)
    void this.#replace().then(() => sendTo(worker, { hub: 'replaced' }))
  }

  /** Replaces a worker after its exit. */
  #watch(worker: Worker, lease: string): void {
    const replace = (code: number | null, signal: string | null): void => {
      void this.endLease(lease)
      if (this.#stopping) return
      this.#log.warn({ worker: worker.process.pid, code, signal }, 'worker exited')
      if (!this.#failing.has(worker)) void this.#replace()
    }
    if (worker.isDead()) replace(worker.process.exitCode, worker.process.signalCode)
    else worker.once('exit', replace)
  }

  /** Replaces a worker, with back-off, until one starts. */
  async #replace(): Promise<void> {
    const now = elapsedMs()
    this.#exitTimes = [...this.#exitTimes.filter((at) => now - at < EXIT_WINDOW_MS), now]
    await sleep(BACK_OFF_MS[this.#exitTimes.length - 1] ?? BACK_OFF_MS.at(-1)!)
    if (this.#stopping) return
    await this.#fork().catch(async (error: unknown) => {
      if (this.#stopping) return
      this.#log.error({ err: error }, 'failed to replace a worker; retrying')
      await this.#replace()
    })
  }

  async #sendSandboxPlace(worker: Worker): Promise<void> {
    sendTo(worker, { hub: 'place', sandbox: await this.#sandbox.promise })
  }

  async #letListen(worker: Worker): Promise<void> {
    await this.#prepared.promise
    this.#listening.add(worker)
    sendTo(worker, { hub: 'listen' })
  }

  async #sendMetrics(worker: Worker, question: number): Promise<void> {
    const merged = await this.#registry.clusterMetrics().catch(() => '')
    const text = `${merged}\n${await unhandledErrorMetrics()}`
    sendTo(worker, { hub: 'counted', question, text })
  }
}

/** Returns true if this process is a worker, which calls `runWorker`. */
export const isWorker = (): boolean => cluster.isWorker

/** Serves requests in a worker until it is stopped or fails. @returns the exit code */
export async function runWorker(
  options: StartOptions,
  stopped: Promise<unknown>,
  errors: UnhandledErrors,
): Promise<number> {
  const first = new FirstProcess()
  loadHub(options).catch(() => {}) // while the primary process opens the environment
  try {
    const place = await first.requestSandboxPlace()
    const config = { ...options.config, jobs: false }
    let isReplaced = config.inheritsSocket
    const running = await startHub({
      ...options,
      config,
      sandboxPlace: place,
      mayListen: () => first.requestListening(),
      mergeMetrics: (meters: Meters) => first.mergeMetrics(meters),
      isReplaced: () => isReplaced,
    })
    await first.send({ hub: 'ready', port: running.port, lease: running.hub.lease.id })
    const failed = errors.occurred.then((origin) => {
      isReplaced = true
      return first.requestReplacement(origin)
    })
    await Promise.race([stopped, failed])
    await running.stop()
    return errors.exitCode
  } catch (error) {
    const { message } = error as Error
    await first.send({ hub: 'failed', message, misconfigured: error instanceof ConfigError })
    return 1
  }
}

const METRICS_TIMEOUT_MS = 5_500
/** Milliseconds that a worker that must end waits for another one to start. */
const REPLACEMENT_MS = 10_000

class FirstProcess {
  /** Responds to the primary process when it collects metrics. */
  readonly registry = new AggregatorRegistry()
  readonly #pendingMetrics = new Map<number, (text: string) => void>()
  #lastQuestion = 0

  constructor() {
    AggregatorRegistry.setRegistries([])
    process.on('message', (message: PrimaryMessage) => {
      if (message.hub === 'counted') this.#pendingMetrics.get(message.question)?.(message.text)
    })
  }

  send(message: WorkerMessage): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send?.(message, () => resolve())
      else resolve()
    })
  }

  async requestSandboxPlace(): Promise<SandboxPlace | undefined> {
    const place = this.#received('place')
    await this.send({ hub: 'hello' })
    return (await place).sandbox
  }

  /** Resolves when the primary process has prepared everything that requests need. */
  async requestListening(): Promise<void> {
    const mayListen = this.#received('listen')
    await this.send({ hub: 'opened' })
    await mayListen
  }

  /** Resolves when another worker has replaced this one, or takes too long. */
  async requestReplacement(origin: NodeJS.UncaughtExceptionOrigin): Promise<void> {
    const replaced = this.#received('replaced')
    await this.send({ hub: 'failing', origin })
    await withTimeout(REPLACEMENT_MS, replaced)
  }

  /** Resolves with the next message of a kind. */
  #received<Kind extends PrimaryMessage['hub']>(
    kind: Kind,
  ): Promise<PrimaryMessage & { readonly hub: Kind }> {
    return new Promise((resolve) => {
      process.on('message', (message: PrimaryMessage) => {
        if (message.hub === kind) resolve(message as PrimaryMessage & { readonly hub: Kind })
      })
    })
  }

  /** Returns a function that reads the merged metrics of all workers. */
  mergeMetrics(meters: Meters): () => Promise<string> {
    AggregatorRegistry.setRegistries([...meters.registries])
    return async () => {
      const question = ++this.#lastQuestion
      const answer = new Promise<string>((resolve) => this.#pendingMetrics.set(question, resolve))
      await this.send({ hub: 'counted?', question })
      const text = await withTimeout(METRICS_TIMEOUT_MS, answer)
      this.#pendingMetrics.delete(question)
      return text ?? meters.text()
    }
  }
}
