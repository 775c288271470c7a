import { request } from 'undici'
import { sleep } from '../clock.ts'
import type { JsonObject } from '../json.ts'

/** Error response of the hub; `code` is stable, `body` is the whole problem. */
export class HubError extends Error {
  override readonly name = 'HubError'
  readonly status: number
  readonly code: string
  readonly body: JsonObject
  constructor(status: number, body: JsonObject) {
    const { code, detail } = body as { code?: string; detail?: string }
    super(`${status} ${code ?? ''}: ${detail ?? ''}`)
    this.status = status
    this.code = code ?? 'unknown'
    this.body = body
  }
}

/** The hub cannot be reached or did not respond in time. */
export class HubUnreachable extends Error {
  override readonly name = 'HubUnreachable'
}

export interface HubResponse<Body = JsonObject> {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Body
  /** Raw bytes of the body. */
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
  /** Timeout per request. */
  readonly timeoutMs: number
}

/** Sends one request and reads the whole response, whatever its status. @throws HubUnreachable */
export async function sendRequest(
  route: HubRoute,
  path: string,
  message: HubRequest,
): Promise<HubResponse> {
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
    return toHubResponse(response, Buffer.from(await response.body.arrayBuffer()))
  } catch (cause) {
    signal?.throwIfAborted()
    const { origin } = new URL(route.baseUrl)
    throw new HubUnreachable(`The hub at ${origin} did not respond.`, { cause })
  }
}

/** Sends bytes unchanged and anything else as JSON. */
const serializeBody = (body: unknown): string | Uint8Array =>
  body instanceof Uint8Array ? body : JSON.stringify(body)

function toHubResponse(
  { statusCode: status, headers, trailers }: Awaited<ReturnType<typeof request>>,
  bytes: Buffer,
): HubResponse {
  // A stream sends these as trailers.
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

function parseBody(text: string): JsonObject {
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

/** Repeats a request until its response is final, with exponential backoff or `Retry-After`. */
export async function sendWithRetries(send: () => Promise<HubResponse>): Promise<HubResponse> {
  for (let attempt = 1; ; attempt++) {
    const response = await send().catch((error: unknown) => {
      if (!(error instanceof HubUnreachable) || attempt === ATTEMPTS_MAX) throw error
      return undefined
    })
    if (response && (!isTemporary(response) || attempt === ATTEMPTS_MAX)) return response
    await sleep(retryDelayMs(response, attempt))
  }
}

const isTemporary = ({ status, body }: HubResponse): boolean =>
  status === 429 || status === 503 || (status === 409 && body['code'] === 'idempotency_in_progress')

function retryDelayMs(response: HubResponse | undefined, attempt: number): number {
  const seconds = Number(response?.headers['retry-after'] ?? Number.NaN)
  const delayMs = Number.isFinite(seconds) ? seconds * 1_000 : FIRST_DELAY_MS * 2 ** (attempt - 1)
  return Math.min(delayMs, LONGEST_DELAY_MS)
}
