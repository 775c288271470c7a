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
import { borrowedDatabase } from './borrowed-database.ts'
import { isLent } from './entry.ts'
import type { FromPlugin, Told } from './wire.ts'

type What = Extract<FromPlugin, { readonly is: 'asks' }>['what']
type Value = Extract<Told, { readonly base64: string }>

interface Waiting {
  readonly resolve: (value: Value) => void
  readonly reject: (error: Error) => void
}

/** What the hub lends, as a plugin that runs apart has it: each use is a question to the hub. */
export class Borrowed {
  readonly #say: (message: FromPlugin) => void
  readonly #waiting = new Map<number, Waiting>()
  #asked = 0

  constructor(say: (message: FromPlugin) => void) {
    this.#say = say
  }

  /** @param lent what may be used; anything else says so when it is */
  host(lent: readonly string[]): Pick<Host, 'http' | 'backends' | 'browser'> {
    const way = (what: 'http' | 'backends'): Host['http'] => ({
      request: (request) => this.#request(what, lent, request),
    })
    return {
      http: way('http'),
      backends: way('backends'),
      browser: {
        render: async ({ signal, ...request }) => {
          const { value, base64 } = await this.#ask('browser', lent, request, signal)
          return { ...value, body: Buffer.from(base64, 'base64') } as RenderedPage
        },
      },
    }
  }

  /** What keeps the data of a plugin, once its migrations are applied. */
  async database(lent: readonly string[], migrations: URL): Promise<Database> {
    const ask = async (request: Readonly<Record<string, unknown>>): Promise<string> =>
      (await this.#ask('database', lent, request, undefined)).base64
    await ask({ do: 'migrate', folder: migrations.href })
    return borrowedDatabase(ask)
  }

  /** Takes the answer to a question. */
  told(id: number, told: Told): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (!('error' in told)) return waiting?.resolve(told)
    waiting?.reject(errorOf(told))
  }

  async #request(
    what: 'http' | 'backends',
    lent: readonly string[],
    { signal, body, ...request }: EgressRequest,
  ): Promise<EgressResponse> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const sent = bytes && { base64: Buffer.from(bytes).toString('base64') }
    const { value, base64 } = await this.#ask(what, lent, { ...request, ...sent }, signal)
    return { ...value, body: Buffer.from(base64, 'base64') } as unknown as EgressResponse
  }

  async #ask(
    what: What,
    lent: readonly string[],
    request: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): Promise<Value> {
    if (!isLent(lent, what)) throw new Error(`${what} is not lent to this plugin`)
    signal?.throwIfAborted()
    const id = this.#asked++
    const onAbort = (): void => this.#say({ is: 'gives-up', id })
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await new Promise<Value>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject })
        this.#say({ is: 'asks', id, what, request })
      })
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }
}

function errorOf(told: Extract<Told, { readonly error: string }>): Error {
  if (told.error === 'denied') return new Error(told.detail)
  if (told.error === 'database') {
    return Object.assign(new Error(told.detail), { code: told.code, ...told.more })
  }
  if (told.error === 'render') return new RenderError(told.code as RenderCode)
  return new EgressError(told.code as EgressCode, { message: told.detail, sent: told.sent })
}
