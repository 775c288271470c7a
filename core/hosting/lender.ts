import { z } from 'zod'
import { EgressError, type Host, RenderError } from '../plugin/index.ts'
import { isLent, type Lent } from './entry.ts'
import type { LentDatabase } from './lent-database.ts'
import { DatabaseRefusal } from './session.ts'
import type { FromPlugin, Told } from './wire.ts'

type Asks = Extract<FromPlugin, { readonly is: 'asks' }>

const ASKED_MAX = 16
/** Of an answer, so that its base64 fits into a message. */
const BYTES_MAX = 4 * 1_048_576

const size = z.number().transform((bytes) => Math.min(bytes, BYTES_MAX))
const ms = z.number().min(0).max(300_000).optional()
const HttpRequest = z.object({
  url: z.string().max(8_192),
  method: z.string().max(20),
  headers: z.record(z.string(), z.string()).optional(),
  base64: z.string().optional(),
  maxBytes: size.default(1_048_576),
  timeouts: z.object({ headersMs: ms, bodyMs: ms, totalMs: ms }).optional(),
})
const RenderRequest = z.object({
  url: z.string().max(8_192),
  hosts: z.array(z.string().max(253)).max(20).optional(),
  waitFor: z.string().max(1_000).optional(),
  deadlineMs: z.number().min(0).max(60_000).optional(),
  maxBytes: size.default(BYTES_MAX),
  userAgent: z.string().max(500).optional(),
})

/** Does for a plugin that runs apart what it was lent, and nothing else. */
export class Lender {
  readonly #host: Pick<Host, 'http' | 'backends' | 'browser'>
  readonly #lent: readonly Lent[]
  readonly #database: LentDatabase | undefined
  readonly #asked = new Map<number, AbortController>()

  /** @param database undefined: it is lent none, or only looked at */
  constructor(
    host: Pick<Host, 'http' | 'backends' | 'browser'>,
    lent: readonly Lent[],
    database?: LentDatabase,
  ) {
    this.#host = host
    this.#lent = lent
    this.#database = database
  }

  /** @returns what it is told; nothing is thrown */
  async answer({ id, what, request }: Asks): Promise<Told> {
    if (!isLent(this.#lent, what)) return denied(`${what} is not lent to this plugin`)
    if (this.#asked.has(id)) return denied('this question is asked already')
    if (this.#asked.size >= ASKED_MAX) return denied(`more than ${ASKED_MAX} questions at once`)
    const controller = new AbortController()
    this.#asked.set(id, controller)
    try {
      if (what === 'database') return await this.#ask(request, controller.signal)
      if (what === 'browser') return await this.#render(request, controller.signal)
      return await this.#request(what, request, controller.signal)
    } catch (error) {
      return toldOf(error)
    } finally {
      if (this.#asked.get(id) === controller) this.#asked.delete(id)
    }
  }

  /** Nobody waits for an answer any more. */
  giveUp(id: number): void {
    this.#asked.get(id)?.abort()
  }

  /** Nobody waits for any; whoever asks next begins anew. */
  giveUpAll(): void {
    for (const controller of this.#asked.values()) controller.abort()
    this.#asked.clear()
    this.#database?.giveUpAll()
  }

  async #request(what: 'http' | 'backends', asked: unknown, signal: AbortSignal): Promise<Told> {
    const { base64, headers, timeouts, ...request } = HttpRequest.parse(asked)
    const {
      status,
      headers: got,
      body,
    } = await this.#host[what].request({
      ...request,
      ...(headers && { headers }),
      ...(timeouts && { timeouts: known(timeouts) }),
      ...(base64 !== undefined && { body: Buffer.from(base64, 'base64') }),
      signal,
    })
    return { value: { status, headers: got }, base64: body.toString('base64') }
  }

  async #ask(asked: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Told> {
    if (this.#database) {
      return { value: {}, base64: await this.#database.answer(asked, signal) }
    }
    if (asked['do'] === 'migrate') return { value: {}, base64: '' }
    return denied('there is no database while the plugin is looked at')
  }

  async #render(asked: unknown, signal: AbortSignal): Promise<Told> {
    const { body, ...value } = await this.#host.browser.render({
      ...RenderRequest.parse(asked),
      signal,
    })
    return { value: { ...value }, base64: body.toString('base64') }
  }
}

const denied = (detail: string): Told => ({ error: 'denied', detail })

function toldOf(error: unknown): Told {
  if (error instanceof EgressError) {
    return { error: 'egress', code: error.code, detail: error.message, sent: error.sent }
  }
  if (error instanceof RenderError) {
    return { error: 'render', code: error.code, detail: error.message, sent: true }
  }
  if (error instanceof DatabaseRefusal) {
    const { code, message, more } = error
    return { error: 'database', code, detail: message, more }
  }
  return denied(error instanceof z.ZodError ? 'this is no request' : 'it cannot be done')
}

/** Without what is undefined, which these types tell from what is left out. */
const known = <T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
