import { Readable } from 'node:stream'
import { type Clock, elapsedMs, patience } from '../clock.ts'
import { Failure, type Host } from '../plugin/index.ts'
import type { Lent } from './entry.ts'
import { Lender } from './lender.ts'
import type { LentDatabase } from './lent-database.ts'
import type { Located } from './locate.ts'
import { type Seat, seated } from './runtime.ts'
import { type Declared, type FromPlugin, readMessage, type ToPlugin } from './wire.ts'

export interface ApartOptions {
  readonly located: Located
  readonly lent: readonly Lent[]
  /** Undefined: it is lent none, or only looked at. */
  readonly database?: LentDatabase | undefined
  /** Takes what the plugin says, and gives it a place to run. */
  readonly sit: (onText: (text: string) => void) => Seat
  readonly host: Pick<Host, 'http' | 'backends' | 'browser' | 'secret' | 'log' | 'sandbox'>
  readonly clock: Clock
  readonly backOffMs: readonly number[]
}

/** What the plugin is asked to do. */
export type Task =
  | Omit<Extract<ToPlugin, { readonly do: 'handle' }>, 'id'>
  | Omit<Extract<ToPlugin, { readonly do: 'price' }>, 'id'>
  | Omit<Extract<ToPlugin, { readonly do: 'run' }>, 'id'>
  | Omit<Extract<ToPlugin, { readonly do: 'listed' }>, 'id'>
export type Outcome = Extract<FromPlugin, { readonly is: 'done' | 'priced' }> & {
  /** Of a body that is to come. */
  readonly stream?: Readable
}

interface Waiting {
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  readonly charge: ((amount: unknown) => void) | undefined
}

/** Importing and declaring; migrations have a minute of their own. */
const OPEN_MS = { plain: 15_000, withDatabase: 75_000 } as const
/** To answer a ping, once it was to stop. */
const STOP_MS = 1_000
const LOOK_MS = 5_000
const WAITING_MAX = 256
const RECENT_MS = 60_000

/**
 * A plugin that runs apart, as the hub sees it. It may throw, hang, leak or exit: what it was at
 * fails, and with the next call it is started again, less and less often.
 */
export class Apart {
  readonly #options: ApartOptions
  readonly #lender: Lender
  readonly #waiting = new Map<number, Waiting>()
  readonly #streams = new Map<number, Readable>()
  readonly #pulled = new Set<number>()
  readonly #pings = new Map<number, () => void>()
  readonly #look: NodeJS.Timeout
  #seat: Promise<Seat> | undefined
  #proof: Promise<void> | undefined
  #declared: string | undefined
  #deaths: number[] = []
  #asked = 0
  #closed = false

  constructor(options: ApartOptions) {
    this.#options = options
    this.#lender = new Lender(options.host, options.lent, options.database)
    this.#look = setInterval(() => void this.#lookAfter(), LOOK_MS).unref()
  }

  /** Starts it. @throws Error when it does not declare a service, or not in time */
  async open(): Promise<Declared> {
    const { promise, resolve } = Promise.withResolvers<Declared>()
    try {
      await (this.#seat = this.#start(resolve))
      return await promise
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /**
   * Has it do something.
   * @param charge takes what it wants to be charged, of whatever form
   * @throws whatever it threw, the reason of `signal`, or a Failure where it cannot run now
   */
  async do(task: Task, signal: AbortSignal, charge?: (amount: unknown) => void): Promise<Outcome> {
    if (this.#waiting.size >= WAITING_MAX) throw busy()
    await this.#proof // one that may not listen any more is not given more to do
    const seat = await this.#ready()
    signal.throwIfAborted()
    const id = this.#asked++
    const stopped = (): void => {
      seat.send(say({ do: 'abort', id }))
      this.#waiting.get(id)?.reject(signal.reason)
      void this.#prove(seat, STOP_MS)
    }
    signal.addEventListener('abort', stopped, { once: true })
    try {
      return await new Promise<Outcome>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject, charge })
        seat.send(say({ ...task, id }))
      })
    } finally {
      this.#waiting.delete(id)
      signal.removeEventListener('abort', stopped)
    }
  }

  /** Ends it; what it is at fails. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#look)
    const seat = await this.#seat?.catch(() => undefined)
    await seat?.end()
    await this.#options.database?.close()
  }

  #ready(): Promise<Seat> {
    if (this.#closed) throw new Failure(503, 'plugin_unavailable', 'The service is not sold now.')
    if (this.#seat) return this.#seat
    const now = elapsedMs()
    const recent = this.#deaths.filter((at) => now - at < RECENT_MS)
    const { backOffMs } = this.#options
    const after = recent.length === 0 ? 0 : (backOffMs[recent.length - 1] ?? backOffMs.at(-1) ?? 0)
    const wait = (recent.at(-1) ?? 0) + after - now
    if (wait > 0) throw restarting(wait)
    return (this.#seat = this.#start(() => undefined))
  }

  /** @throws Error when it does not come up, or declares something else than before */
  async #start(onDeclared: (declared: Declared) => void): Promise<Seat> {
    const { located, lent, host, clock } = this.#options
    const opened = Promise.withResolvers<Declared>()
    const seat = seated(() => this.#options.sit((text) => this.#take(seat, text, opened)))
    void this.#whenEnded(seat, opened)
    const { spec, entry, folder } = located
    const secrets = secretsOf(lent, host)
    const now = clock.now().getTime()
    const { sandbox } = host
    seat.send(say({ do: 'open', entry, folder, now, sandbox, secrets, lent }))
    const { database } = this.#options
    const late = patience(database ? OPEN_MS.withDatabase : OPEN_MS.plain).then(() => {
      throw new Error('it took too long to open')
    })
    try {
      const declared = await Promise.race([opened.promise, late])
      const text = JSON.stringify(declared)
      if (text !== (this.#declared ??= text)) throw new Error('it declares something else now')
      onDeclared(declared)
      return seat
    } catch (error) {
      await seat.end()
      const { message } = database?.problem ?? (error as Error)
      throw new Error(`plugin ${spec}: ${message}`, { cause: error })
    }
  }

  async #whenEnded(seat: Seat, opened: PromiseWithResolvers<Declared>): Promise<void> {
    const why = await seat.ended
    opened.reject(new Error(`it ${why}`))
    this.#bury(why)
  }

  #take(seat: Seat, text: string, opened: PromiseWithResolvers<Declared>): void {
    let said: FromPlugin
    try {
      said = readMessage(text)
    } catch (error) {
      this.#log('a plugin said what means nothing', { err: String(error).slice(0, 300) })
      return void seat.end()
    }
    if (said.is === 'opened') opened.resolve(said.declared)
    else if (said.is === 'refused') opened.reject(new Error(said.detail))
    else if (said.is === 'done' || said.is === 'priced') this.#done(seat, said)
    else if (said.is === 'failed') this.#waiting.get(said.id)?.reject(said.thrown)
    else if (said.is === 'charge') this.#charge(said.id, said.amount)
    else if (said.is === 'piece' || said.is === 'end') this.#flow(seat, said)
    else if (said.is === 'asks') void this.#asksFor(seat, said)
    else if (said.is === 'gives-up') this.#lender.giveUp(said.id)
    else if (said.is === 'log') this.#log(said.message, said.fields)
    else this.#pings.get(said.id)?.()
  }

  #done(seat: Seat, said: Extract<FromPlugin, { readonly is: 'done' | 'priced' }>): void {
    const { id } = said
    const waiting = this.#waiting.get(id)
    const flows =
      said.is === 'done' && said.answer.kind === 'reply' && said.answer.body.kind === 'stream'
    if (!flows) return waiting?.resolve(said)
    if (!waiting) return seat.send(say({ do: 'drop', id })) // nobody waits for it any more
    const stream = new Readable({
      read: () => {
        this.#pulled.add(id)
        seat.send(say({ do: 'pull', id }))
      },
      destroy: (error, done) => {
        if (this.#streams.delete(id)) seat.send(say({ do: 'drop', id }))
        if (this.#pulled.delete(id)) void this.#prove(seat, STOP_MS)
        done(error)
      },
    })
    this.#streams.set(id, stream)
    waiting.resolve({ ...said, stream })
  }

  #flow(seat: Seat, said: Extract<FromPlugin, { readonly is: 'piece' | 'end' }>): void {
    const { id } = said
    const stream = this.#streams.get(id)
    if (!stream) return
    if (!this.#pulled.delete(id)) return void seat.end() // nobody has room for it
    if (said.is === 'piece') return void stream.push(Buffer.from(said.base64, 'base64'))
    this.#streams.delete(id)
    if (said.broken === undefined) stream.push(null)
    else stream.destroy(new Error(said.broken))
  }

  /** Whoever judges a charge throws, and fails the call once it is answered. */
  #charge(id: number, amount: unknown): void {
    try {
      this.#waiting.get(id)?.charge?.(amount)
    } catch {
      // noted there
    }
  }

  async #asksFor(seat: Seat, asks: Extract<FromPlugin, { readonly is: 'asks' }>): Promise<void> {
    const told = await this.#lender.answer(asks)
    seat.send(say({ do: 'told', id: asks.id, told }))
  }

  #bury(why: string): void {
    this.#seat = undefined
    this.#deaths = [...this.#deaths.slice(-9), elapsedMs()]
    this.#lender.giveUpAll()
    const error = new Error(`the plugin ${why}`)
    for (const { reject } of this.#waiting.values()) reject(error)
    const streams = [...this.#streams.values()]
    this.#streams.clear()
    for (const stream of streams) stream.destroy(error)
    if (!this.#closed) this.#log('a plugin ended', { why })
  }

  /** A loop burns the machine also where nobody waits for it. */
  async #lookAfter(): Promise<void> {
    const seat = await this.#seat?.catch(() => undefined)
    if (seat && this.#waiting.size === 0) await this.#prove(seat, LOOK_MS)
  }

  /** Ends it, unless it still listens. */
  #prove(seat: Seat, ms: number): Promise<void> {
    const proof = this.#askWhether(seat, ms).finally(() => {
      if (this.#proof === proof) this.#proof = undefined
    })
    return (this.#proof = proof)
  }

  async #askWhether(seat: Seat, ms: number): Promise<void> {
    const id = this.#asked++
    const heard = new Promise<true>((resolve) => this.#pings.set(id, () => resolve(true)))
    seat.send(say({ do: 'ping', id }))
    const alive = await Promise.race([heard, patience(ms).then(() => false), seat.ended])
    this.#pings.delete(id)
    if (alive === false) await seat.end('did not stop when it was told to')
  }

  #log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#options.host.log(message, { ...fields, plugin: this.#options.located.spec })
  }
}

const say = (message: ToPlugin): string => JSON.stringify(message)

const secretsOf = (lent: readonly Lent[], { secret }: Pick<Host, 'secret'>) =>
  Object.fromEntries(
    lent.flatMap((name) => {
      const [kind, which] = name.split(':')
      const value = kind === 'secret' && which !== undefined ? secret(which) : undefined
      return value === undefined ? [] : [[which!, value]]
    }),
  )

const busy = (): Failure =>
  new Failure(503, 'plugin_busy', 'The service has more to do than it can.', {
    retryAfterSeconds: 1,
  })

const restarting = (ms: number): Failure =>
  new Failure(503, 'plugin_restarting', 'The service has failed, and is started again soon.', {
    retryAfterSeconds: ms / 1_000,
  })
