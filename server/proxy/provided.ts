import { validateHeaderName, validateHeaderValue } from 'node:http'
import { Readable } from 'node:stream'
import { deadlineOf } from '../../core/catalog/services/deadline.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { type AnyEndpoint, Failure, Refusal, Reply } from '../../core/plugin/index.ts'
import { RenderError } from '../../core/plugin/render-error.ts'
import { discard } from './discard.ts'

/**
 * Runs a provider's code until the deadline of its endpoint, even if it takes no notice of it.
 * @throws whatever the code throws, or the TimeoutError of the signal
 */
export function untilDeadline<T>(
  endpoint: AnyEndpoint,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const { signal } = deadline
  return new Promise((resolve, reject) => {
    const result = Promise.resolve(work(signal))
    const giveUp = (): void => {
      deadline.abort(new DOMException('The deadline has passed.', 'TimeoutError'))
      reject(signal.reason)
    }
    // Not AbortSignal.timeout: its timer stays until it fires, however early the answer came.
    const timer = setTimeout(giveUp, deadlineOf(endpoint) * 1_000).unref()
    const answered = (answer: T): void => {
      if (signal.aborted) discardOf(answer)
      if (!flows(answer)) clearTimeout(timer) // a stream has until then to end
      resolve(answer)
    }
    const failed = (error: unknown): void => {
      clearTimeout(timer)
      reject(error)
    }
    result.then(answered).catch(failed) // also of an answer that cannot be let go of
  })
}

const flows = (answer: unknown): boolean =>
  answer instanceof Reply && answer.body instanceof Readable

const discardOf = (answer: unknown): void =>
  answer instanceof Reply ? discard(answer.body) : undefined

/** What the caller learns of an error in a provider's code: a refusal in full, else its kind. */
export function faultOf(error: unknown, slug: string, log: Log): Fault {
  if (error instanceof Fault) return error
  if (error instanceof RenderError) {
    const headers = error.code === 'render_unavailable' ? RETRY : {}
    return new Fault(error.code, error.message, { headers, cause: error.cause })
  }
  if (error instanceof Refusal) {
    const { code, status, message, extras } = error
    const fault = known(code, status === 404 ? 'not_found' : 'refused')
    return new Fault(fault, message, { extras: { reason: code, ...extras } })
  }
  if (error instanceof Failure) return failed(error)
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new Fault('timeout', undefined, { extras: { reason: 'deadline' }, cause: error })
  }
  log.warn({ err: error, service: slug }, 'a handler threw')
  return new Fault('plugin_failed', undefined, {
    extras: { reason: 'handler_threw' },
    cause: error,
  })
}

/** Seconds until a place in a browser is free, as a rule. */
const RETRY = { 'Retry-After': '5' }

/** What services that sell pages say; each is a fault of its own. */
export const PAGE_FAULTS: readonly FaultCode[] = [
  'domain_not_registered',
  'page_not_for_sale',
  'page_denied',
  'robots_disallowed',
  'content_unavailable',
  'content_empty',
  'content_unreadable',
  'content_type_unsupported',
]

/** What services say that ask somebody else's API. */
export const UPSTREAM_FAULTS: readonly FaultCode[] = [
  'upstream_error',
  'upstream_redirect',
  'upstream_timeout',
  'upstream_tls',
  'upstream_too_large',
  'upstream_unreachable',
]

const known = (code: string, otherwise: FaultCode): FaultCode =>
  [...PAGE_FAULTS, ...UPSTREAM_FAULTS].find((each) => each === code) ?? otherwise

const FAILED = {
  502: 'plugin_failed',
  503: 'plugin_unavailable',
  504: 'timeout',
} as const satisfies Record<Failure['status'], FaultCode>

const failed = ({ status, code, message, extras, retryAfterSeconds: after }: Failure): Fault =>
  new Fault(known(code, FAILED[status]), message, {
    extras: { ...extras, reason: code },
    ...(after !== undefined && { headers: { 'Retry-After': String(Math.ceil(after)) } }),
  })

/**
 * An answer is charged only if it can be sent, so that is found out before.
 * @throws Fault `plugin_contract` for a status, a header or a body that HTTP or JSON cannot say
 */
export function assertSendable({ status, headers, body }: Reply): void {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw unsendable(`has no HTTP status of 200 to 599`)
  }
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    const isJson = !(body instanceof Uint8Array || body instanceof Readable)
    // Of a function, for one, JSON says nothing at all.
    if (isJson && JSON.stringify(body ?? null) === undefined) throw new TypeError('no JSON')
  } catch (error) {
    throw unsendable('has a header or a body that cannot be written', error)
  }
}

const unsendable = (what: string, cause?: unknown): Fault =>
  new Fault('plugin_contract', `The answer of the service ${what}.`, {
    extras: { reason: 'answer_not_sendable' },
    cause,
  })
