import { request } from 'undici'
import { elapsedMs, sleep, systemClock } from '../clock.ts'
import type { JsonObject } from '../json.ts'
import { retryAfterSeconds } from '../retry-after.ts'

/** Error response of the hub; `code` is stable, `body` is the whole problem. */
export class HubError extends Error {
  override readonly name = 'HubError'
  readonly status: number
  readonly code: string
  readonly body: JsonObject
  /** Microdollars that the hub reports as charged, also for a response such as 404. */
  readonly charged: bigint
  readonly callId: string | undefined
  /** Header that carries the payment, to send the same request again with it. */
  readonly payment: Readonly<Record<string, string>> | undefined

  constructor(
    { status, body, charged, callId }: HubResponse,
    payment?: Readonly<Record<string, string>>,
  ) {
    const { code, detail } = body as { code?: string; detail?: string }
    super(`${status} ${code ?? ''}: ${detail ?? ''}`)
    this.status = status
    this.code = code ?? 'unknown'
    this.body = body
    this.charged = charged
    this.callId = callId
    this.payment = payment
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

/** Returns true for a 402 with an offer. Without one, paying does not help. */
export const isOffering = ({ status, headers }: HubResponse): boolean =>
  status === 402 && 'payment-required' in headers

/** Milliseconds by which this machine's clock is ahead of the hub's; undefined without a date. */
export function clockLeadMs({ headers }: Pick<HubResponse, 'headers'>): number | undefined {
  const lead = systemClock.now().getTime() - Date.parse(String(headers['date']))
  return Number.isNaN(lead) ? undefined : lead
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
        ...lowerCase(headers),
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

/** Headers by lower-case names, which replace defaults of the same name. */
const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

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
    charged: microdollarsIn(one('x-charged-microdollars')),
    source: one('x-payment-source'),
    callId: one('x-call-id'),
  }
}

/** Parses an amount; zero for anything else, because a seller may send this header as well. */
const microdollarsIn = (text: string | undefined): bigint =>
  text !== undefined && /^\d{1,18}$/.test(text) ? BigInt(text) : 0n

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

/** A pause before a request is repeated. */
export interface ClientWait {
  readonly delayMs: number
  /** Title of the last response, such as `First request in progress`. */
  readonly reason: string
}

export interface RetryOptions {
  /** Maximum time from the first response that is not final to the last repetition. */
  readonly waitMs: number
  readonly onWait?: ((wait: ClientWait) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

const FIRST_DELAY_MS = 250
const LONGEST_DELAY_MS = 5_000

/**
 * Repeats a request until its response is final: after the time in `Retry-After`, or with
 * exponential backoff while the hub is unreachable. When the time is up, returns the last response.
 * @throws HubUnreachable if there was none
 */
export async function sendWithRetries(
  send: () => Promise<HubResponse>,
  { waitMs, onWait, signal }: RetryOptions,
): Promise<HubResponse> {
  let deadline: number | undefined
  for (let attempt = 1; ; attempt++) {
    const result = await send().catch((error: unknown) => {
      if (error instanceof HubUnreachable) return error
      throw error
    })
    const isAnswered = !(result instanceof HubUnreachable)
    if (isAnswered && !isTemporary(result)) return attempt > 1 ? withEarlierCharge(result) : result
    const delayMs = retryDelayMs(isAnswered ? result : undefined, attempt)
    deadline ??= elapsedMs() + waitMs
    if (elapsedMs() + delayMs > deadline) {
      if (isAnswered) return withEarlierCharge(result)
      throw result
    }
    const title = isAnswered ? result.body['title'] : undefined
    const reason = typeof title === 'string' ? title : 'The hub does not respond'
    onWait?.({ delayMs, reason })
    await sleep(delayMs, signal)
  }
}

const TEMPORARY: ReadonlySet<number> = new Set([202, 409, 425, 429, 503])

/**
 * Returns true if the same request will get another response soon. A receipt or a refund ends an
 * attempt: another one would do the work again. A gateway error without the hub's request id comes
 * from a proxy in front of a hub that restarts.
 */
function isTemporary({ status, headers }: HubResponse): boolean {
  if (headers['retry-after'] === undefined) {
    return status >= 502 && status <= 504 && headers['x-request-id'] === undefined
  }
  const isEnded = headers['x-refund-reason'] !== undefined || headers['x-receipt'] !== undefined
  return !isEnded && TEMPORARY.has(status)
}

/** Returns the response with the charge of an earlier attempt, whose response was lost. */
function withEarlierCharge(response: HubResponse): HubResponse {
  const earlier = response.headers['x-charged-earlier-microdollars']
  return earlier === undefined ? response : { ...response, charged: BigInt(String(earlier)) }
}

function retryDelayMs(response: HubResponse | undefined, attempt: number): number {
  const seconds = response && retryAfterSeconds(response.headers)
  if (seconds !== undefined) return seconds * 1_000
  return Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS)
}
