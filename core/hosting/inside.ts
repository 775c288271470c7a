import { Readable } from 'node:stream'
import { systemClock } from '../clock.ts'
import {
  type AnyEndpoint,
  type AnyService,
  type Call,
  type Host,
  micros,
  type Plugin,
} from '../plugin/index.ts'
import { Borrowed } from './borrowed.ts'
import { databaseOf } from './entry.ts'
import { answerOf, declaredOf, messageOf, thrownOf, wordsOf } from './inside-words.ts'
import { DETAIL_MAX, MESSAGE_MAX, PIECE_MAX } from './limits.ts'
import { importAnew } from './modules.ts'
import type { FromPlugin, ToPlugin } from './wire.ts'

type Of<Kind> = Extract<ToPlugin, { readonly do: Kind }>

/** A plugin in a worker or a process of its own: opens it, and does what the hub says. */
export class Inside {
  readonly #write: (text: string) => void
  readonly #borrowed: Borrowed
  readonly #calls = new Map<number, AbortController>()
  readonly #streams = new Map<number, AsyncIterator<unknown>>()
  #service: AnyService | undefined

  /** @param write sends a message to the hub */
  constructor(write: (text: string) => void) {
    this.#write = write
    this.#borrowed = new Borrowed((message) => this.#say(message))
  }

  /** Takes a message of the hub. */
  take(text: string): void {
    const told = JSON.parse(text) as ToPlugin
    switch (told.do) {
      case 'open':
        return void this.#open(told)
      case 'handle':
        return this.#answering(told.id, () => this.#handle(told))
      case 'price':
        return this.#answering(told.id, () => this.#price(told))
      case 'run':
        return this.#answering(told.id, () => this.#run(told))
      case 'listed':
        return this.#answering(told.id, () => this.#isListed(told.id))
      case 'abort':
        return this.#calls.get(told.id)?.abort(new DOMException('', 'TimeoutError'))
      case 'pull':
        return void this.#pull(told.id)
      case 'drop':
        return void this.#drop(told.id)
      case 'ping':
        return this.#say({ is: 'pong', id: told.id })
      case 'told':
        return this.#borrowed.told(told.id, told.told)
    }
  }

  async #open({ entry, folder, ...lent }: Of<'open'>): Promise<void> {
    try {
      const plugin = await importAnew(entry, folder)
      const service = await this.#serviceOf(plugin, lent)
      this.#service = service
      this.#say({ is: 'opened', declared: declaredOf(service) })
    } catch (error) {
      this.#say({ is: 'refused', detail: messageOf(error) })
    }
  }

  async #serviceOf(
    plugin: unknown,
    { now, sandbox, secrets, lent }: Omit<Of<'open'>, 'entry' | 'folder'>,
  ): Promise<AnyService> {
    if (typeof plugin !== 'function' && (typeof plugin !== 'object' || plugin === null)) {
      throw new Error('the default export of its module is no plugin')
    }
    const ahead = now - systemClock.now().getTime()
    const host: Host = {
      ...this.#borrowed.host(lent),
      secret: (name) => secrets[name.toUpperCase()],
      log: (message, fields) =>
        this.#say({
          is: 'log',
          message: wordsOf(message),
          ...(fields && { fields: { ...fields } }),
        }),
      clock: { now: () => new Date(systemClock.now().getTime() + ahead) },
      sandbox,
    }
    const sold = await this.#opened(plugin as Plugin, host, lent)
    if ('find' in sold)
      throw inlineOnly('it is a family, which says itself at which addresses it sells')
    return sold
  }

  async #opened(plugin: Plugin, host: Host, lent: readonly string[]) {
    if (!('open' in plugin)) return typeof plugin === 'function' ? plugin(host) : plugin
    const { slug } = plugin
    if (databaseOf(lent) !== slug) throw needsDatabase(slug)
    const database = await this.#borrowed.database(lent, plugin.migrations)
    const sold = plugin.open({ ...host, database })
    if ('find' in sold || sold.slug === slug) return sold
    throw new Error(`what ${slug} sells is ${sold.slug}`)
  }

  /** Whatever comes of the work is told, and nothing else: nothing is thrown here. */
  #answering(id: number, work: () => Promise<FromPlugin>): void {
    const tell = async (): Promise<void> => {
      try {
        this.#say(await work())
      } catch (error) {
        this.#say({ is: 'failed', id, thrown: thrownOf(error) })
      } finally {
        this.#calls.delete(id)
      }
    }
    void tell()
  }

  async #handle({ id, route, call }: Of<'handle'>): Promise<FromPlugin> {
    const { handle } = this.#endpoint(route)
    const charge: Call<unknown>['charge'] = (amount) =>
      this.#say({ is: 'charge', id, amount: typeof amount === 'bigint' ? String(amount) : null })
    const answer = await handle({ ...call, signal: this.#signalOf(id), charge })
    const told = answerOf(answer)
    if (told.stream) this.#streams.set(id, piecesOf(told.stream))
    return { is: 'done', id, answer: told.answer }
  }

  async #price({ id, route, input }: Of<'price'>): Promise<FromPlugin> {
    const { price } = this.#endpoint(route)
    if (typeof price === 'bigint') return { is: 'priced', id, amount: String(price), terms: null }
    const { amount, terms } = await price.of(input)
    return { is: 'priced', id, amount: String(micros(amount)), terms: terms ?? null }
  }

  async #run({ id, schedule }: Of<'run'>): Promise<FromPlugin> {
    await this.#service?.schedules?.[schedule]?.run(this.#signalOf(id))
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

  #signalOf(id: number): AbortSignal {
    const controller = new AbortController()
    this.#calls.set(id, controller)
    return controller.signal
  }

  /** The next piece of a stream, since the hub has room for it. */
  async #pull(id: number): Promise<void> {
    try {
      const next = await this.#streams.get(id)?.next()
      if (next && !next.done) {
        return this.#say({ is: 'piece', id, base64: (next.value as Buffer).toString('base64') })
      }
      this.#say({ is: 'end', id })
    } catch (error) {
      this.#say({ is: 'end', id, broken: messageOf(error) })
    }
    this.#streams.delete(id)
  }

  async #drop(id: number): Promise<void> {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    await stream?.return?.().catch(() => undefined)
  }

  #say(message: FromPlugin): void {
    const text = textOf(message)
    if (Buffer.byteLength(text) <= MESSAGE_MAX) this.#write(text)
    else this.#sayInstead(message)
  }

  /** Of what is too long to be said, whoever waits for it is told so: the hub, or the plugin. */
  #sayInstead(message: FromPlugin): void {
    if (message.is === 'done' || message.is === 'priced' || message.is === 'failed') {
      const detail = 'the answer is larger than an answer may be: stream it'
      this.#say({ is: 'failed', id: message.id, thrown: { kind: 'error', detail } })
    } else if (message.is === 'asks') {
      const detail = 'the request is larger than a request may be'
      this.#borrowed.told(message.id, { error: 'denied', detail })
    } else if (message.is === 'opened') {
      this.#say({ is: 'refused', detail: 'it declares more than can be declared' })
    } else if (message.is === 'log') {
      this.#say({ is: 'log', message: message.message.slice(0, DETAIL_MAX) })
    }
  }
}

const needsDatabase = (slug: string): Error =>
  new Error(`it keeps data: to lend it its database, name it with +database:${slug}`)

/** Why it cannot run apart, and what whoever runs the hub may do. */
const inlineOnly = (why: string): Error =>
  new Error(
    `needs_inline: ${why}. If you trust it, name it with =inline, and let its package.json ask \
for no isolation; else it has to do without.`,
  )

/** What a message cannot say is the plugin's fault: an answer is then none. */
function textOf(message: FromPlugin): string {
  try {
    return JSON.stringify(message)
  } catch (error) {
    if (message.is === 'log') return JSON.stringify({ is: 'log', message: message.message })
    if (message.is !== 'done' && message.is !== 'priced') throw error
    return JSON.stringify({ is: 'failed', id: message.id, thrown: thrownOf(error) })
  }
}

/** Of a stream, none larger than a message takes. */
async function* piecesOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk as Uint8Array)
    for (let at = 0; at < bytes.length; at += PIECE_MAX) yield bytes.subarray(at, at + PIECE_MAX)
  }
}
