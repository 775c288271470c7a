import type { Readable } from 'node:stream'
import type { EgressCode } from '../egress/errors.ts'
import {
  type Database,
  EgressError,
  type EgressRequest,
  type EgressResponse,
  type Host,
  RenderError,
  type RenderedPage,
} from '../plugin/index.ts'
import type { RenderCode } from '../plugin/render-error.ts'
import { createDatabaseClient } from './database-client.ts'
import { isInjected } from './entry.ts'
import { type Piece, ReceivedStreams } from './pieces.ts'
import type { CapabilityError, CapabilityResult, FromPlugin } from './wire.ts'

type ResultValue = Exclude<CapabilityResult, CapabilityError>

interface PendingRequest {
  readonly resolve: (value: ResultValue) => void
  readonly reject: (error: Error) => void
}

/** Plugin side of the injected capabilities: each use is a request to the hub. */
export class HostClient {
  readonly #send: (message: FromPlugin) => void
  readonly #pending = new Map<number, PendingRequest>()
  readonly #streams = new ReceivedStreams()
  #nextId = 0

  constructor(send: (message: FromPlugin) => void) {
    this.#send = send
  }

  /** @param injected allowed capabilities; using any other one throws */
  host(injected: readonly string[]): Pick<Host, 'http' | 'backends' | 'browser'> {
    const client = (capability: 'http' | 'backends'): Host['http'] => ({
      request: (request) => this.#request(capability, injected, request),
    })
    return {
      http: client('http'),
      backends: client('backends'),
      browser: {
        render: async ({ signal, ...request }) => {
          const { value, base64 } = await this.#use('browser', injected, request, signal)
          return { ...value, body: Buffer.from(base64, 'base64') } as RenderedPage
        },
      },
    }
  }

  /** Applies the plugin's migrations and opens its database. */
  async database(injected: readonly string[], migrations: URL): Promise<Database> {
    const query = async (request: Readonly<Record<string, unknown>>): Promise<string> =>
      (await this.#use('database', injected, request, undefined)).base64
    await query({ do: 'migrate', folder: migrations.href })
    return createDatabaseClient(query)
  }

  /** Handles the hub's response to a request. */
  receive(id: number, result: CapabilityResult): void {
    const waiting = this.#pending.get(id)
    this.#pending.delete(id)
    if (!('error' in result)) return waiting?.resolve(result)
    waiting?.reject(decodeError(result))
  }

  /** Handles the next piece of a streamed response. */
  receivePiece(id: number, piece: Piece<CapabilityError>): void {
    const { broken } = { broken: undefined, ...piece }
    this.#streams.receive(id, 'base64' in piece ? piece : { broken: broken && decodeError(broken) })
  }

  async #request(
    capability: 'http' | 'backends',
    injected: readonly string[],
    { signal, body, ...request }: EgressRequest,
  ): Promise<EgressResponse> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const sent = bytes && { base64: Buffer.from(bytes).toString('base64') }
    const id = this.#nextId
    const result = await this.#use(capability, injected, { ...request, ...sent }, signal)
    const received = Buffer.from(result.base64, 'base64')
    const stream = result.streams === true && { stream: this.#openStream(id, signal) }
    return { ...result.value, body: received, ...stream } as unknown as EgressResponse
  }

  #openStream(id: number, signal: AbortSignal | undefined): Readable {
    const stream = this.#streams.add(
      id,
      () => this.#send({ is: 'read', id }),
      () => this.#send({ is: 'cancel', id }),
    )
    const onAbort = (): void => void stream.destroy(signal?.reason as Error)
    if (signal?.aborted === true) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    stream.once('close', () => signal?.removeEventListener('abort', onAbort))
    stream.on('error', () => undefined) // a reader may attach later
    return stream
  }

  async #use(
    capability: Extract<FromPlugin, { readonly is: 'request' }>['capability'],
    injected: readonly string[],
    request: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): Promise<ResultValue> {
    if (!isInjected(injected, capability)) {
      throw new Error(`${capability} is not injected into this plugin: see HUB_PLUGINS`)
    }
    signal?.throwIfAborted()
    const id = this.#nextId++
    const onAbort = (): void => this.#send({ is: 'cancel', id })
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await new Promise<ResultValue>((resolve, reject) => {
        this.#pending.set(id, { resolve, reject })
        this.#send({ is: 'request', id, capability, request })
      })
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }
}

function decodeError(result: CapabilityError): Error {
  if (result.error === 'denied') return new Error(result.detail)
  if (result.error === 'database') {
    return Object.assign(new Error(result.detail), { code: result.code, ...result.fields })
  }
  if (result.error === 'render') return new RenderError(result.code as RenderCode)
  return new EgressError(result.code as EgressCode, { message: result.detail, sent: result.sent })
}
