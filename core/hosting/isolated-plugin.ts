import { type Clock, elapsedMs, unrefSleep } from '../clock.ts'
import { Failure, type Host } from '../plugin/index.ts'
import type { Capability } from './entry.ts'
import type { InjectedDatabase } from './injected-database.ts'
import { Injector, injectedSecrets } from './injector.ts'
import type { LocatedPlugin } from './locate.ts'
import { ReceivedStreams } from './pieces.ts'
import { type PluginRuntime, startRuntime } from './runtime.ts'
import {
  type DeclaredService,
  type FromPlugin,
  type PluginTask,
  type Report,
  readMessage,
  type TaskResult,
  type ToPlugin,
} from './wire.ts'

export interface IsolatedPluginOptions {
  readonly located: LocatedPlugin
  readonly injected: readonly Capability[]
  /** Undefined if none is injected, or the plugin is only examined. */
  readonly database?: InjectedDatabase | undefined
  /** Starts a runtime; its messages are passed to `onText`. */
  readonly launch: (onText: (text: string) => void) => PluginRuntime
  readonly host: Pick<Host, 'http' | 'backends' | 'browser' | 'secret' | 'log' | 'sandbox'>
  readonly clock: Clock
  readonly backOffMs: readonly number[]
}

type Message<Kind> = Extract<FromPlugin, { readonly is: Kind }>

interface PendingTask {
  readonly resolve: (result: TaskResult) => void
  readonly reject: (error: unknown) => void
}

/** Time limits of import and declaration; a minute more for migrations. */
const OPEN_MS = { plain: 15_000, withDatabase: 75_000 } as const
/** Time limit of a ping after an abort. */
const STOP_MS = 1_000
const LIVENESS_CHECK_MS = 5_000
const PENDING_MAX = 256
const RECENT_MS = 60_000

/**
 * Hub side of an isolated plugin. If the plugin hangs, leaks or exits, its pending work fails, and
 * the next call restarts it, with increasing delays.
 */
export class IsolatedPlugin {
  readonly #options: IsolatedPluginOptions
  readonly #injector: Injector
  readonly #pending = new Map<number, PendingTask>()
  readonly #reports = new Map<number, (report: Report) => void>()
  readonly #streams = new ReceivedStreams()
  readonly #pings = new Map<number, () => void>()
  readonly #livenessTimer: NodeJS.Timeout
  #runtime: Promise<PluginRuntime> | undefined
  #livenessCheck: Promise<void> | undefined
  #declared: string | undefined
  #exitTimes: number[] = []
  #nextId = 0
  #closed = false

  constructor(options: IsolatedPluginOptions) {
    this.#options = options
    this.#injector = new Injector(options.host, options.injected, options.database)
    this.#livenessTimer = setInterval(() => void this.#checkIdle(), LIVENESS_CHECK_MS).unref()
  }

  /** Starts the plugin. @throws Error if it does not declare a service in time */
  async open(): Promise<DeclaredService> {
    const { promise, resolve } = Promise.withResolvers<DeclaredService>()
    try {
      await (this.#runtime = this.#start(resolve))
      return await promise
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /**
   * Runs a task in the plugin.
   * @param onReport called with each report, until the end of a stream
   * @throws the plugin's error, the reason of `signal`, or a Failure if the plugin cannot run now
   */
  async run(
    task: PluginTask,
    signal: AbortSignal,
    onReport?: (report: Report) => void,
  ): Promise<TaskResult> {
    if (this.#pending.size >= PENDING_MAX) {
      const advice = { retryAfterSeconds: 1 }
      throw new Failure(503, 'plugin_busy', 'The service is overloaded.', advice)
    }
    await this.#livenessCheck // send no work to a plugin that may hang
    const runtime = await this.#getRuntime()
    signal.throwIfAborted()
    const id = this.#nextId++
    const stopped = (): void => {
      runtime.send(encode({ do: 'abort', id }))
      this.#pending.get(id)?.reject(signal.reason)
      void this.#endUnlessAlive(runtime, STOP_MS)
    }
    signal.addEventListener('abort', stopped, { once: true })
    if (onReport) this.#reports.set(id, onReport)
    try {
      return await new Promise<TaskResult>((resolve, reject) => {
        this.#pending.set(id, { resolve, reject })
        runtime.send(encode({ ...task, id }))
      })
    } finally {
      this.#pending.delete(id)
      if (!this.#streams.has(id)) this.#reports.delete(id)
      signal.removeEventListener('abort', stopped)
    }
  }

  /** Terminates the plugin; pending tasks fail. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#livenessTimer)
    const runtime = await this.#runtime?.catch(() => undefined)
    await runtime?.end()
    await this.#options.database?.close()
  }

  #getRuntime(): Promise<PluginRuntime> {
    if (this.#closed)
      throw new Failure(503, 'plugin_unavailable', 'The service is currently not available.')
    if (this.#runtime) return this.#runtime
    const now = elapsedMs()
    const recent = this.#exitTimes.filter((at) => now - at < RECENT_MS)
    const { backOffMs } = this.#options
    const after = recent.length === 0 ? 0 : (backOffMs[recent.length - 1] ?? backOffMs.at(-1) ?? 0)
    const wait = (recent.at(-1) ?? 0) + after - now
    if (wait > 0) throw restartingFailure(wait)
    return (this.#runtime = this.#start(() => undefined))
  }

  /** @throws Error if it does not start, or its declaration has changed */
  async #start(onDeclared: (declared: DeclaredService) => void): Promise<PluginRuntime> {
    const { located, injected, host, clock } = this.#options
    const opened = Promise.withResolvers<DeclaredService>()
    const runtime = startRuntime(() =>
      this.#options.launch((text) => this.#receive(runtime, text, opened)),
    )
    void this.#watchExit(runtime, opened)
    const { spec, entry, folder } = located
    const secrets = injectedSecrets(injected, host)
    const now = clock.now().getTime()
    const { sandbox } = host
    runtime.send(encode({ do: 'open', entry, folder, now, sandbox, secrets, injected }))
    const { database } = this.#options
    const late = unrefSleep(database ? OPEN_MS.withDatabase : OPEN_MS.plain).then(() => {
      throw new Error('it did not open in time')
    })
    try {
      const declared = await Promise.race([opened.promise, late])
      const text = JSON.stringify(declared)
      if (text !== (this.#declared ??= text)) throw new Error('its declaration has changed')
      onDeclared(declared)
      return runtime
    } catch (error) {
      await runtime.end()
      const { message } = database?.migrationError ?? (error as Error)
      throw new Error(`plugin ${spec}: ${message}`, { cause: error })
    }
  }

  async #watchExit(
    runtime: PluginRuntime,
    opened: PromiseWithResolvers<DeclaredService>,
  ): Promise<void> {
    const why = await runtime.ended
    opened.reject(new Error(`it ${why}`))
    this.#onExit(why)
  }

  #receive(
    runtime: PluginRuntime,
    text: string,
    opened: PromiseWithResolvers<DeclaredService>,
  ): void {
    let message: FromPlugin
    try {
      message = readMessage(text)
    } catch (error) {
      this.#log('a plugin sent an invalid message', { err: String(error).slice(0, 300) })
      return void runtime.end()
    }
    if (message.is === 'opened') opened.resolve(message.declared)
    else if (message.is === 'refused') opened.reject(new Error(message.detail))
    else if (message.is === 'done' || message.is === 'priced') this.#complete(runtime, message)
    else if (message.is === 'failed') this.#pending.get(message.id)?.reject(message.thrown)
    else if (message.is === 'charge' || message.is === 'meter') this.#report(message)
    else if (message.is === 'piece' || message.is === 'end') this.#receivePiece(runtime, message)
    else if (message.is === 'request') void this.#serveRequest(runtime, message)
    else if (message.is === 'read') void this.#sendPiece(runtime, message.id)
    else if (message.is === 'cancel') this.#injector.cancel(message.id)
    else if (message.is === 'log') this.#log(message.message, message.fields)
    else this.#pings.get(message.id)?.()
  }

  #complete(runtime: PluginRuntime, message: Message<'done' | 'priced'>): void {
    const { id } = message
    const waiting = this.#pending.get(id)
    const isStream =
      message.is === 'done' &&
      message.answer.kind === 'reply' &&
      message.answer.body.kind === 'stream'
    if (!isStream) return waiting?.resolve(message)
    if (!waiting) return runtime.send(encode({ do: 'drop', id })) // the call has ended
    const stream = this.#streams.add(
      id,
      () => runtime.send(encode({ do: 'pull', id })),
      (isPulled) => {
        runtime.send(encode({ do: 'drop', id }))
        if (isPulled) void this.#endUnlessAlive(runtime, STOP_MS)
      },
    )
    stream.once('close', () => this.#reports.delete(id))
    waiting.resolve({ ...message, stream })
  }

  #receivePiece(runtime: PluginRuntime, message: Message<'piece' | 'end'>): void {
    const { id } = message
    const { broken } = { broken: undefined, ...message }
    const piece =
      message.is === 'piece'
        ? message
        : { broken: broken === undefined ? broken : new Error(broken) }
    if (!this.#streams.receive(id, piece)) void runtime.end() // it ignores backpressure
  }

  /** Passes a report on. An invalid one throws there, and also fails the call when it returns. */
  #report(report: Report): void {
    try {
      this.#reports.get(report.id)?.(report)
    } catch {
      // recorded by the callback
    }
  }

  async #serveRequest(runtime: PluginRuntime, request: Message<'request'>): Promise<void> {
    const result = await this.#injector.answer(request)
    runtime.send(encode({ do: 'resolve', id: request.id, result }))
  }

  async #sendPiece(runtime: PluginRuntime, id: number): Promise<void> {
    const piece = await this.#injector.read(id)
    if (piece) runtime.send(encode({ do: 'piece', id, piece }))
  }

  #onExit(why: string): void {
    this.#runtime = undefined
    this.#exitTimes = [...this.#exitTimes.slice(-9), elapsedMs()]
    this.#injector.cancelAll()
    const error = new Error(`the plugin ${why}`)
    for (const { reject } of this.#pending.values()) reject(error)
    this.#streams.fail(error)
    if (!this.#closed) this.#log('a plugin exited', { why })
  }

  /** Checks an idle plugin: an endless loop wastes CPU even if no call waits for it. */
  async #checkIdle(): Promise<void> {
    const runtime = await this.#runtime?.catch(() => undefined)
    if (runtime && this.#pending.size === 0) await this.#endUnlessAlive(runtime, LIVENESS_CHECK_MS)
  }

  /** Terminates the plugin unless it responds to a ping within `ms`. */
  #endUnlessAlive(runtime: PluginRuntime, ms: number): Promise<void> {
    const check = this.#ping(runtime, ms).finally(() => {
      if (this.#livenessCheck === check) this.#livenessCheck = undefined
    })
    return (this.#livenessCheck = check)
  }

  async #ping(runtime: PluginRuntime, ms: number): Promise<void> {
    const id = this.#nextId++
    const answered = new Promise<true>((resolve) => this.#pings.set(id, () => resolve(true)))
    runtime.send(encode({ do: 'ping', id }))
    const alive = await Promise.race([answered, unrefSleep(ms).then(() => false), runtime.ended])
    this.#pings.delete(id)
    if (alive === false) await runtime.end('did not stop on abort')
  }

  #log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#options.host.log(message, { ...fields, plugin: this.#options.located.spec })
  }
}

const encode = (message: ToPlugin): string => JSON.stringify(message)

const restartingFailure = (ms: number): Failure =>
  new Failure(503, 'plugin_restarting', 'The service has failed and restarts soon.', {
    retryAfterSeconds: ms / 1_000,
  })
