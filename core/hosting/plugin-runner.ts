import { systemClock } from '../clock.ts'
import {
  type AnyEndpoint,
  type AnyService,
  type Call,
  type Host,
  micros,
  type Plugin,
} from '../plugin/index.ts'
import { describeService, encodeError, encodeResult, messageText, safeString } from './encode.ts'
import { injectedDatabaseOf } from './entry.ts'
import { HostClient } from './host-client.ts'
import { DETAIL_MAX, MESSAGE_MAX } from './limits.ts'
import { importFresh } from './modules.ts'
import { SentStreams } from './pieces.ts'
import { UsageReports } from './usage-reports.ts'
import type { FromPlugin, ToPlugin } from './wire.ts'

type Command<Kind> = Extract<ToPlugin, { readonly do: Kind }>

/** Runs a plugin inside a worker or process: opens it and executes the hub's messages. */
export class PluginRunner {
  readonly #write: (text: string) => void
  readonly #host: HostClient
  readonly #calls = new Map<number, AbortController>()
  readonly #streams = new SentStreams()
  #service: AnyService | undefined

  /** @param write sends a message to the hub */
  constructor(write: (text: string) => void) {
    this.#write = write
    this.#host = new HostClient((message) => this.#send(message))
  }

  /** Handles a message of the hub. */
  receive(text: string): void {
    const message = JSON.parse(text) as ToPlugin
    switch (message.do) {
      case 'open':
        return void this.#open(message)
      case 'handle':
        return this.#reply(message.id, () => this.#handle(message))
      case 'price':
        return this.#reply(message.id, () => this.#price(message))
      case 'run':
        return this.#reply(message.id, () => this.#run(message))
      case 'listed':
        return this.#reply(message.id, () => this.#isListed(message.id))
      case 'abort':
        return this.#calls.get(message.id)?.abort(new DOMException('', 'TimeoutError'))
      case 'pull':
        return void this.#pull(message.id)
      case 'drop':
        return this.#streams.drop(message.id)
      case 'ping':
        return this.#send({ is: 'pong', id: message.id })
      case 'resolve':
        return this.#host.receive(message.id, message.result)
      case 'piece':
        return this.#host.receivePiece(message.id, message.piece)
    }
  }

  async #open({ entry, folder, ...options }: Command<'open'>): Promise<void> {
    try {
      const plugin = await importFresh(entry, folder)
      const service = await this.#serviceOf(plugin, options)
      this.#service = service
      this.#send({ is: 'opened', declared: describeService(service) })
    } catch (error) {
      this.#send({ is: 'refused', detail: messageText(error) })
    }
  }

  async #serviceOf(
    plugin: unknown,
    { now, sandbox, secrets, injected }: Omit<Command<'open'>, 'entry' | 'folder'>,
  ): Promise<AnyService> {
    if (typeof plugin !== 'function' && (typeof plugin !== 'object' || plugin === null)) {
      throw new Error('the default export of its module is not a plugin')
    }
    const ahead = now - systemClock.now().getTime()
    const host: Host = {
      ...this.#host.host(injected),
      secret: (name) => secrets[name.toUpperCase()],
      log: (message, fields) =>
        this.#send({
          is: 'log',
          message: safeString(message),
          ...(fields && { fields: { ...fields } }),
        }),
      clock: { now: () => new Date(systemClock.now().getTime() + ahead) },
      sandbox,
    }
    const declaration = await this.#openPlugin(plugin as Plugin, host, injected)
    if ('find' in declaration) throw needsInline('it is a family, which chooses its own slugs')
    return declaration
  }

  async #openPlugin(plugin: Plugin, host: Host, injected: readonly string[]) {
    if (!('open' in plugin)) return typeof plugin === 'function' ? plugin(host) : plugin
    const { slug } = plugin
    if (injectedDatabaseOf(injected) !== slug) throw databaseRequired(slug)
    const database = await this.#host.database(injected, plugin.migrations)
    const declaration = plugin.open({ ...host, database })
    if ('find' in declaration || declaration.slug === slug) return declaration
    throw new Error(`the plugin ${slug} declares the service ${declaration.slug}`)
  }

  /** Runs a task and sends its result or error. Does not throw. */
  #reply(id: number, work: () => Promise<FromPlugin>): void {
    const tell = async (): Promise<void> => {
      try {
        this.#send(await work())
      } catch (error) {
        this.#send({ is: 'failed', id, thrown: encodeError(error) })
      } finally {
        this.#calls.delete(id)
      }
    }
    void tell()
  }

  async #handle({ id, route, call, reserved }: Command<'handle'>): Promise<FromPlugin> {
    const { handle, price } = this.#endpoint(route)
    const charge: Call<unknown>['charge'] = (amount) =>
      this.#send({ is: 'charge', id, amount: typeof amount === 'bigint' ? String(amount) : null })
    const counter = new UsageReports(price, BigInt(reserved ?? 0), (unit, quantity) =>
      this.#send({ is: 'meter', id, unit, quantity }),
    )
    const meter: Call<unknown>['meter'] = (unit, quantity) => {
      const isCovered = counter.add(unit, quantity)
      if (!isCovered) this.#streams.stop(id)
      return isCovered
    }
    const answer = await handle({ ...call, signal: this.#createSignal(id), charge, meter })
    const message = encodeResult(answer)
    if (message.stream) {
      this.#streams.add(id, message.stream, () => counter.reportExcess())
      if (counter.isExhausted) this.#streams.stop(id)
    } else counter.reportExcess()
    return { is: 'done', id, answer: message.answer }
  }

  async #price({ id, route, input, agent }: Command<'price'>): Promise<FromPlugin> {
    const { price } = this.#endpoint(route)
    if (typeof price === 'bigint') return { is: 'priced', id, amount: String(price), terms: null }
    if (price.unit !== undefined) throw new Error(`${route} has a metered price`)
    const { amount, terms } = await price.of(input, agent)
    return { is: 'priced', id, amount: String(micros(amount)), terms: terms ?? null }
  }

  async #run({ id, schedule }: Command<'run'>): Promise<FromPlugin> {
    await this.#service?.schedules?.[schedule]?.run(this.#createSignal(id))
    return { is: 'done', id, answer: { kind: 'value', value: null } }
  }

  async #isListed(id: number): Promise<FromPlugin> {
    const value = (await this.#service?.isListed?.()) ?? true
    return { is: 'done', id, answer: { kind: 'value', value } }
  }

  #endpoint(route: string): AnyEndpoint {
    const endpoint = (this.#service?.endpoints as Record<string, AnyEndpoint> | undefined)?.[route]
    if (!endpoint) throw new Error(`there is no ${route}`)
    return endpoint
  }

  #createSignal(id: number): AbortSignal {
    const controller = new AbortController()
    this.#calls.set(id, controller)
    return controller.signal
  }

  /** Sends the next piece of a stream, on request of the hub. */
  async #pull(id: number): Promise<void> {
    const piece = await this.#streams.next(id)
    if (!piece) return
    if ('base64' in piece) return this.#send({ is: 'piece', id, base64: piece.base64 })
    const { broken } = piece
    this.#send({ is: 'end', id, ...(broken !== undefined && { broken: messageText(broken) }) })
  }

  #send(message: FromPlugin): void {
    const text = encodeMessage(message)
    if (Buffer.byteLength(text) <= MESSAGE_MAX) this.#write(text)
    else this.#sendTooLong(message)
  }

  /** Replaces an oversized message by an error to its receiver, which may be the plugin itself. */
  #sendTooLong(message: FromPlugin): void {
    if (message.is === 'done' || message.is === 'priced' || message.is === 'failed') {
      const detail = 'the response exceeds the maximum size: stream it'
      this.#send({ is: 'failed', id: message.id, thrown: { kind: 'error', detail } })
    } else if (message.is === 'request') {
      const detail = 'the request exceeds the maximum size'
      this.#host.receive(message.id, { error: 'denied', detail })
    } else if (message.is === 'opened') {
      this.#send({ is: 'refused', detail: 'its declaration exceeds the maximum size' })
    } else if (message.is === 'log') {
      this.#send({ is: 'log', message: message.message.slice(0, DETAIL_MAX) })
    }
  }
}

const databaseRequired = (slug: string): Error =>
  new Error(`it requires a database: add +database:${slug} to its entry`)

/** Error of a plugin that cannot be isolated, with instructions for the operator. */
const needsInline = (why: string): Error =>
  new Error(
    `needs_inline: ${why}. If you trust it, set =inline in its entry and remove the isolation from \
its package.json.`,
  )

/** Serializes a message. A result that is not JSON becomes an error of the plugin. */
function encodeMessage(message: FromPlugin): string {
  try {
    return JSON.stringify(message)
  } catch (error) {
    if (message.is === 'log') return JSON.stringify({ is: 'log', message: message.message })
    if (message.is !== 'done' && message.is !== 'priced') throw error
    return JSON.stringify({ is: 'failed', id: message.id, thrown: encodeError(error) })
  }
}
