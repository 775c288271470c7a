import { request as sendHttp } from 'undici'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import {
  type Answer,
  type Attempt,
  isFinal,
  isRepeatable,
  type LoggedRequest,
  type RequestLog,
} from './request-log.ts'

/** Request that a client sends; only `logged` is in the log. */
export interface Order {
  readonly logged: Omit<LoggedRequest, 'attempts' | 'id'>
  readonly apiKey?: string | undefined
  /** Headers of its payment. */
  readonly paymentHeaders?: Readonly<Record<string, string>> | undefined
  /** Signs anew for each attempt, which is not sent if there is nothing to sign. */
  readonly signIn?: (() => Promise<Readonly<Record<string, string>> | undefined>) | undefined
  /** Client IP address, sent in X-Forwarded-For. */
  readonly ip: string
}

/** Question that is not part of the log. */
export type Question = Pick<LoggedRequest, 'path' | 'body'> & Pick<Order, 'apiKey' | 'ip'>

const TIMEOUT_MS = 90_000
const RETRY_MS = 400
const LONGEST_WAIT_MS = 5_000
/** Time after which a request that still has no final answer is given up; reported as violation. */
const FINAL_ANSWER_MS = 240_000

/** Clients of a hub; everything that they send and are told is in the log. */
export class Clients {
  readonly #url: string
  readonly #log: RequestLog
  /** Repeated requests without a final answer. */
  readonly #repeated = new Set<string>()
  #count = 0

  constructor(url: string, log: RequestLog) {
    this.#url = url
    this.#log = log
  }

  /** Waits until no request is repeated any more, or the time is over. */
  async untilAnswered(timeoutMs: number): Promise<void> {
    const deadline = elapsedMs() + timeoutMs
    while (this.#repeated.size > 0 && elapsedMs() < deadline) await sleep(RETRY_MS)
  }

  /** Sends a request that is not part of the log, such as one for an offer. */
  ask({ path, body, ...sender }: Question): Promise<Answer> {
    const logged = { kind: 'question', client: '', path, body }
    return transmit(this.#url, { ...sender, logged }).catch(toLoss)
  }

  /**
   * Sends a request until it has its final answer; once if a repetition could pay again. Each
   * attempt waits for the end of the one before.
   */
  async send(order: Order): Promise<Answer> {
    const id = `${++this.#count}`
    this.#log.begin({ ...order.logged, id })
    const isRepeated = isRepeatable(order.logged)
    for (const deadline = elapsedMs() + FINAL_ANSWER_MS; ; ) {
      const answer = await this.#attempt(id, order)
      if ((answer && (isFinal(answer) || !isRepeated)) || elapsedMs() > deadline) {
        this.#repeated.delete(id)
        return answer ?? {}
      }
      this.#repeated.add(id)
      await sleep(answer ? waitMs(answer) : RETRY_MS)
    }
  }

  /** Sends a request once. Returns undefined if there was no challenge to sign. */
  async #attempt(id: string, order: Order): Promise<Answer | undefined> {
    const signed = await order.signIn?.()
    if (order.signIn && !signed) return undefined
    this.#log.sent(id)
    const headers = { ...order.paymentHeaders, ...signed }
    const answer = await transmit(this.#url, { ...order, paymentHeaders: headers }).catch(toLoss)
    this.#log.told(id, answer)
    return answer
  }
}

const toLoss = (error: NodeJS.ErrnoException): Answer => ({ error: error.code ?? error.message })

function waitMs({ headers }: Attempt | Answer): number {
  const seconds = Number(headers?.['retry-after'] ?? Number.NaN)
  return Number.isFinite(seconds) ? Math.min(seconds * 1_000, LONGEST_WAIT_MS) : RETRY_MS
}

async function transmit(url: string, order: Order): Promise<Answer> {
  const { logged, apiKey, paymentHeaders, ip } = order
  const { path, body, idempotencyKey } = logged
  const isRead = Object.keys(body).length === 0
  const response = await sendHttp(new URL(path, url), {
    method: isRead ? 'GET' : 'POST',
    headers: {
      'x-forwarded-for': ip,
      ...(isRead ? {} : { 'content-type': 'application/json' }),
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...paymentHeaders,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: isRead ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await response.body.text()
  const headers = Object.entries({ ...response.headers, ...response.trailers })
  return {
    status: response.statusCode,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
    body: parseBody(text),
  }
}

function parseBody(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {}
  return { text }
}
