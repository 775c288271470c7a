import { request } from 'undici'
import { sleep } from '../clock.ts'

/** An answer of the hub that was not a success; `code` is stable, `body` the whole problem. */
export class HubError extends Error {
  override readonly name = 'HubError'
  readonly status: number
  readonly code: string
  readonly body: Readonly<Record<string, unknown>>
  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    const { code, detail } = body as { code?: string; detail?: string }
    super(`${status} ${code ?? ''}: ${detail ?? ''}`)
    this.status = status
    this.code = code ?? 'unknown'
    this.body = body
  }
}

/** The hub gave no answer: it cannot be reached, or took too long. */
export class HubUnreachable extends Error {
  override readonly name = 'HubUnreachable'
}

export interface Answer<Body = Readonly<Record<string, unknown>>> {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Body
  /** The body as it came. */
  readonly bytes: Buffer
  /** Microdollars. */
  readonly charged: bigint
  readonly source: string | undefined
  readonly callId: string | undefined
}

export interface HubRequest {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

export interface HubRoute {
  readonly baseUrl: string
  readonly apiKey?: string | undefined
  /** For each request. */
  readonly timeoutMs: number
}

/** Sends one request and reads its answer whole, whatever its status. @throws HubUnreachable */
export async function sendRequest(
  route: HubRoute,
  path: string,
  message: HubRequest,
): Promise<Answer> {
  const { method = 'GET', body, headers = {}, signal } = message
  const timeout = AbortSignal.timeout(route.timeoutMs)
  try {
    const response = await request(new URL(path, route.baseUrl), {
      method: method as 'GET',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...(route.apiKey === undefined ? {} : { authorization: `Bearer ${route.apiKey}` }),
      },
      ...(body === undefined ? {} : { body: serializeBody(body) }),
    })
    return toAnswer(response, Buffer.from(await response.body.arrayBuffer()))
  } catch (cause) {
    signal?.throwIfAborted()
    const { origin } = new URL(route.baseUrl)
    throw new HubUnreachable(`The hub at ${origin} does not answer.`, { cause })
  }
}

/** Bytes are sent as they are, anything else as JSON. */
const serializeBody = (body: unknown): string | Uint8Array =>
  body instanceof Uint8Array ? body : JSON.stringify(body)

function toAnswer(
  { statusCode: status, headers, trailers }: Awaited<ReturnType<typeof request>>,
  bytes: Buffer,
): Answer {
  // Of a stream they come at its end.
  const one = (name: string) => (headers[name] ?? trailers[name])?.toString()
  return {
    status,
    headers,
    bytes,
    body: parseBody(bytes.toString('utf8')),
    charged: BigInt(one('x-charged-microdollars') ?? 0),
    source: one('x-payment-source'),
    callId: one('x-call-id'),
  }
}

function parseBody(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : { value }
  } catch {
    return { text }
  }
}

const ATTEMPTS_MAX = 4
const FIRST_DELAY_MS = 250
const LONGEST_DELAY_MS = 10_000

/**
 * Sends a request that may safely be sent again, until its answer is final: lost answers, 409 of
 * the same request still under way, 429 and 503 are tried again, later each time or when the hub
 * says so.
 */
export async function sendWithRetries(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send().catch((error: unknown) => {
      if (!(error instanceof HubUnreachable) || attempt === ATTEMPTS_MAX) throw error
      return undefined
    })
    if (answer && (!isTemporary(answer) || attempt === ATTEMPTS_MAX)) return answer
    await sleep(retryDelayMs(answer, attempt))
  }
}

const isTemporary = ({ status, body }: Answer): boolean =>
  status === 429 || status === 503 || (status === 409 && body['code'] === 'idempotency_in_progress')

function retryDelayMs(answer: Answer | undefined, attempt: number): number {
  const seconds = Number(answer?.headers['retry-after'] ?? Number.NaN)
  const asked = Number.isFinite(seconds) ? seconds * 1_000 : FIRST_DELAY_MS * 2 ** (attempt - 1)
  return Math.min(asked, LONGEST_DELAY_MS)
}
