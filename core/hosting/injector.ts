import { z } from 'zod'
import { EgressError, type Host, RenderError } from '../plugin/index.ts'
import { DatabaseRequestError } from './database-session.ts'
import { type Capability, isInjected } from './entry.ts'
import type { InjectedDatabase } from './injected-database.ts'
import { type Piece, SentStreams } from './pieces.ts'
import type { CapabilityError, CapabilityResult, FromPlugin } from './wire.ts'

type CapabilityRequest = Extract<FromPlugin, { readonly is: 'request' }>

const PENDING_MAX = 16
/** Maximum size of a body, so that its base64 fits into a message. */
const BODY_BYTES_MAX = 4 * 1_048_576

const size = z.number().transform((bytes) => Math.min(bytes, BODY_BYTES_MAX))
const ms = z.number().min(0).max(300_000).optional()
const HttpRequest = z.object({
  url: z.string().max(8_192),
  method: z.string().max(20),
  headers: z.record(z.string(), z.string()).optional(),
  base64: z.string().optional(),
  maxBytes: size.default(1_048_576),
  timeouts: z.object({ headersMs: ms, bodyMs: ms, totalMs: ms }).optional(),
  streams: z.union([z.boolean(), z.literal('at-once')]).default(false),
})
const RenderRequest = z.object({
  url: z.string().max(8_192),
  hosts: z.array(z.string().max(253)).max(20).optional(),
  waitFor: z.string().max(1_000).optional(),
  deadlineMs: z.number().min(0).max(60_000).optional(),
  maxBytes: size.default(BODY_BYTES_MAX),
  userAgent: z.string().max(500).optional(),
  parties: z
    .object({
      payer: z.string().max(200).optional(),
      site: z.string().max(200).optional(),
      paid: z.boolean(),
    })
    .optional(),
})

/** Hub side of the injected capabilities of one isolated plugin. Refuses all other requests. */
export class Injector {
  readonly #host: Pick<Host, 'http' | 'backends' | 'browser'>
  readonly #injected: readonly Capability[]
  readonly #database: InjectedDatabase | undefined
  readonly #pending = new Map<number, AbortController>()
  readonly #streams = new SentStreams()

  /** @param database undefined if none is injected, or the plugin is only examined */
  constructor(
    host: Pick<Host, 'http' | 'backends' | 'browser'>,
    injected: readonly Capability[],
    database?: InjectedDatabase,
  ) {
    this.#host = host
    this.#injected = injected
    this.#database = database
  }

  /** Handles a request of the plugin. Errors are returned, not thrown. */
  async answer({ id, capability, request }: CapabilityRequest): Promise<CapabilityResult> {
    if (!isInjected(this.#injected, capability)) {
      return denied(`${capability} is not injected into this plugin`)
    }
    if (this.#pending.has(id)) return denied('this request id is already in use')
    if (this.#pending.size >= PENDING_MAX)
      return denied(`more than ${PENDING_MAX} requests at once`)
    const controller = new AbortController()
    this.#pending.set(id, controller)
    try {
      if (capability === 'database') return await this.#queryDatabase(request, controller.signal)
      if (capability === 'browser') return await this.#render(request, controller.signal)
      return await this.#request(capability, id, request, controller)
    } catch (error) {
      return errorResult(error)
    } finally {
      if (!this.#streams.has(id)) this.#release(id, controller)
    }
  }

  /** Returns the next piece of a streamed response; undefined if it is not due. */
  async read(id: number): Promise<Piece<CapabilityError> | undefined> {
    const piece = await this.#streams.next(id)
    if (!piece || 'base64' in piece) return piece
    return { broken: piece.broken === undefined ? undefined : errorResult(piece.broken) }
  }

  /** Aborts a request. */
  cancel(id: number): void {
    this.#pending.get(id)?.abort()
    this.#streams.drop(id)
  }

  #release(id: number, controller: AbortController): void {
    if (this.#pending.get(id) === controller) this.#pending.delete(id)
  }

  /** Aborts all requests, after the plugin has exited. */
  cancelAll(): void {
    for (const controller of this.#pending.values()) controller.abort()
    this.#pending.clear()
    this.#streams.dropAll()
    this.#database?.rollBackAll()
  }

  async #request(
    capability: 'http' | 'backends',
    id: number,
    request: unknown,
    controller: AbortController,
  ): Promise<CapabilityResult> {
    const { base64, headers, timeouts, ...options } = HttpRequest.parse(request)
    const response = await this.#host[capability].request({
      ...options,
      ...(headers && { headers }),
      ...(timeouts && { timeouts: withoutUndefined(timeouts) }),
      ...(base64 !== undefined && { body: Buffer.from(base64, 'base64') }),
      signal: controller.signal,
    })
    const { status, headers: responseHeaders, body, stream } = response
    if (stream) {
      // Until its end it counts among the requests at once.
      stream.once('close', () => this.#release(id, controller))
      this.#streams.add(id, stream)
    }
    const value = { status, headers: responseHeaders }
    return { value, base64: body.toString('base64'), ...(stream && { streams: true }) }
  }

  async #queryDatabase(
    request: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<CapabilityResult> {
    if (this.#database) {
      return { value: {}, base64: await this.#database.answer(request, signal) }
    }
    if (request['do'] === 'migrate') return { value: {}, base64: '' }
    return denied('no database is available while the plugin is examined')
  }

  async #render(request: unknown, signal: AbortSignal): Promise<CapabilityResult> {
    const { body, ...value } = await this.#host.browser.render({
      ...RenderRequest.parse(request),
      signal,
    })
    return { value: { ...value }, base64: body.toString('base64') }
  }
}

/** Values of the injected secrets, by name. */
export const injectedSecrets = (
  injected: readonly Capability[],
  { secret }: Pick<Host, 'secret'>,
) =>
  Object.fromEntries(
    injected.flatMap((name) => {
      const [kind, which] = name.split(':')
      const value = kind === 'secret' && which !== undefined ? secret(which) : undefined
      return value === undefined ? [] : [[which!, value]]
    }),
  )

const denied = (detail: string): CapabilityError => ({ error: 'denied', detail })

function errorResult(error: unknown): CapabilityError {
  if (error instanceof EgressError) {
    return { error: 'egress', code: error.code, detail: error.message, sent: error.sent }
  }
  if (error instanceof RenderError) {
    return { error: 'render', code: error.code, detail: error.message, sent: true }
  }
  if (error instanceof DatabaseRequestError) {
    const { code, message, fields } = error
    return { error: 'database', code, detail: message, fields }
  }
  return denied(error instanceof z.ZodError ? 'invalid request' : 'the request failed')
}

/** Removes undefined members (exactOptionalPropertyTypes). */
const withoutUndefined = <T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
