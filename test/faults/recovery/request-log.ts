import { appendFileSync, readFileSync } from 'node:fs'
import { systemClock } from '../../../core/clock.ts'

/** Request of a client, with everything that it was told about it. */
export interface LoggedRequest {
  readonly id: string
  /** Kind of call, such as `credits` or `x402`. */
  readonly kind: string
  readonly client: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Id of the main key that pays; undefined without a key. */
  readonly keyId?: string | undefined
  readonly subKeyId?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly payment?: SignedPayment | undefined
  /** Network of its payment besides Base. */
  readonly network?: string | undefined
  /** Behavior of the external seller. */
  readonly seller?: string | undefined
  readonly attempts: readonly Attempt[]
}

export interface SignedPayment {
  readonly payer: string
  readonly nonce: string
  /** Microdollars, as decimal text. */
  readonly amount: string
}

/** One transmission of a request. Times are milliseconds since the epoch. */
export interface Attempt {
  readonly sentAt: number
  /** Time of the complete response, or of the loss of the connection. */
  readonly endedAt?: number
  /** Undefined if the connection was lost. */
  readonly status?: number
  /** Lowercase names; trailers are included. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly error?: string
}

/** Injected fault. Its dependency works again from `backAt`. */
export interface FaultWindow {
  readonly name: string
  readonly begunAt: number
  readonly backAt: number
}

export interface ClientLog {
  readonly requests: readonly LoggedRequest[]
  readonly faults: readonly FaultWindow[]
}

type Line =
  | { readonly type: 'request'; readonly request: Omit<LoggedRequest, 'attempts'> }
  | { readonly type: 'sent'; readonly id: string; readonly at: number }
  | { readonly type: 'told'; readonly id: string; readonly at: number; readonly answer: Answer }
  | { readonly type: 'fault' | 'back'; readonly name: string; readonly at: number }

export type Answer = Omit<Attempt, 'sentAt' | 'endedAt'>

/** Append-only file of what clients sent and were told, written before and after each attempt. */
export class RequestLog {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  begin(request: Omit<LoggedRequest, 'attempts'>): void {
    this.#append({ type: 'request', request })
  }

  sent(id: string): void {
    this.#append({ type: 'sent', id, at: now() })
  }

  told(id: string, answer: Answer): void {
    this.#append({ type: 'told', id, at: now(), answer })
  }

  fault(name: string, type: 'fault' | 'back'): void {
    this.#append({ type, name, at: now() })
  }

  read(): ClientLog {
    const lines = readFileSync(this.#path, 'utf8').trimEnd().split('\n')
    return replayLines(lines.map((line) => JSON.parse(line) as Line))
  }

  #append(line: Line): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`)
  }
}

const now = (): number => systemClock.now().getTime()

/** Attempts of one request are sequential, so an answer belongs to the last one. */
function replayLines(lines: readonly Line[]): ClientLog {
  const requests = new Map<string, LoggedRequest & { readonly attempts: Attempt[] }>()
  const faults: FaultWindow[] = []
  for (const line of lines) {
    if (line.type === 'request') requests.set(line.request.id, { ...line.request, attempts: [] })
    else if (line.type === 'sent') requests.get(line.id)!.attempts.push({ sentAt: line.at })
    else if (line.type === 'told') {
      const { attempts } = requests.get(line.id)!
      attempts.push({ ...attempts.pop()!, ...line.answer, endedAt: line.at })
    } else if (line.type === 'fault') {
      faults.push({ name: line.name, begunAt: line.at, backAt: Number.POSITIVE_INFINITY })
    } else faults.push({ ...faults.pop()!, backAt: line.at })
  }
  return { requests: [...requests.values()], faults }
}

/** Codes of answers that ask for the same request again. */
const REPEAT_CODES = new Set(['idempotency_in_progress', 'payment_in_progress'])
const REPEAT_STATUSES = new Set([202, 429, 500, 503])

/** Returns true if the answer ends the request: it is no request to send it again. */
export function isFinal({ status, body }: Answer): boolean {
  if (status === undefined) return false
  return !REPEAT_STATUSES.has(status) && !REPEAT_CODES.has(String(body?.['code']))
}

/** Returns true if the request may be sent again without paying twice. */
export const isRepeatable = ({
  idempotencyKey,
  payment,
}: Pick<LoggedRequest, 'idempotencyKey' | 'payment'>): boolean =>
  idempotencyKey !== undefined || payment !== undefined

export const finalAnswer = ({ attempts }: LoggedRequest): Attempt | undefined =>
  attempts.find(isFinal)

/** Returns status and code of an answer, such as `503 service_unavailable`. */
export function codeOf({ status, body }: Answer): string {
  const code = body?.['code'] ?? body?.['state']
  return typeof code === 'string' ? `${status} ${code}` : String(status)
}
