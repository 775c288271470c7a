import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { defineService, micros, Reply, s, usd } from 'agenthub/plugin'
import { request } from 'undici'

export const PRICE = usd('0.001')
const MIB = 1_048_576

/** Server that sends what a test defines, when it defines it. */
export class Source {
  readonly #asked: ServerResponse[] = []
  #server: Server | undefined
  #next = Promise.withResolvers<ServerResponse>()

  async open(): Promise<void> {
    this.#server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      this.#asked.push(response)
      this.#next.resolve(response)
      this.#next = Promise.withResolvers()
    }).listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server!.address() as AddressInfo).port}`
  }

  /** The server's end of the next connection. */
  next(): Promise<ServerResponse> {
    return this.#next.promise
  }

  async close(): Promise<void> {
    for (const response of this.#asked) response.destroy()
    this.#server?.close()
    await once(this.#server!, 'close')
  }
}

/** MiB read from the endless endpoint. */
export const endless = { mebibytes: 0 }

function* mebibytes(count: number): Generator<Buffer> {
  const one = Buffer.alloc(MIB)
  for (; endless.mebibytes < count; endless.mebibytes++) yield one
}

const input = s.object({})

/** Service that relays streams from a source or of its own. */
export const piped = (source: Source) => {
  const open = async (signal: AbortSignal): Promise<Reply> => {
    const { body } = await request(source.url, { signal })
    body.on('error', () => undefined)
    return new Reply(body, { headers: { 'Content-Type': 'text/event-stream' } })
  }
  const endpoint = { price: PRICE, input, streams: true }
  const large = {
    ...endpoint,
    input: s.object({ mebibytes: s.integer() }),
    handle: ({ input: { mebibytes: count } }: { input: { mebibytes: number } }) => {
      endless.mebibytes = 0
      return new Reply(Readable.from(mebibytes(count)))
    },
  }
  return defineService({
    slug: 'piped',
    name: 'Piped',
    category: 'test',
    summary: 'Passes streams on.',
    provider: 'example',
    endpoints: {
      'POST /on': { ...endpoint, summary: 'On.', handle: ({ signal }) => open(signal) },
      'POST /short': {
        ...endpoint,
        summary: 'On, for two seconds.',
        deadlineSeconds: 2,
        handle: ({ signal }) => open(signal),
      },
      'POST /undeclared': {
        ...endpoint,
        summary: 'Does not say that it streams.',
        streams: false,
        handle: ({ signal }) => open(signal),
      },
      'POST /metered': {
        ...endpoint,
        summary: 'Costs what it sent.',
        handle: ({ charge }) => {
          const words = function* () {
            yield 'one '
            yield 'two'
            charge(micros(200n))
          }
          return new Reply(Readable.from(words()))
        },
      },
      'POST /endless': { ...large, summary: 'Sends MiB, for a second.', deadlineSeconds: 1 },
      'POST /large': { ...large, summary: 'Sends so many MiB.' },
    },
  })
}

/** The same service with one free call a month. */
export const sample = (source: Source) => ({
  ...piped(source),
  slug: 'sample',
  freeCallsPerMonth: 1,
})
