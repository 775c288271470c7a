import { validateHeaderName, validateHeaderValue } from 'node:http'
import { Readable } from 'node:stream'
import { deadlineOf } from '../../core/catalog/services/deadline.ts'
import { HUB_STATUSES } from '../../core/catalog/services/hub-statuses.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import { IsolatedError } from '../../core/hosting/isolated-service.ts'
import type { Log } from '../../core/log.ts'
import { componentOf } from '../../core/outages.ts'
import { type AnyEndpoint, Failure, Refusal, Reply } from '../../core/plugin/index.ts'
import { RenderError } from '../../core/plugin/render-error.ts'
import { discardBody } from '../http/response-stream.ts'
import { LARGE_BYTES } from './expected-lengths.ts'

/** Runs a provider's code until its deadline, even if it ignores the signal. @throws its error */
export function withDeadline<T>(
  endpoint: AnyEndpoint,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const { signal } = deadline
  return new Promise((resolve, reject) => {
    const result = Promise.resolve(work(signal))
    const onDeadline = (): void => {
      deadline.abort(new DOMException('The deadline has passed.', 'TimeoutError'))
      reject(signal.reason)
    }
    // Not AbortSignal.timeout: its timer stays until it fires, however early the code returns.
    const timer = setTimeout(onDeadline, deadlineOf(endpoint) * 1_000).unref()
    const onReturn = (returned: T): void => {
      const body = returned instanceof Reply ? returned.body : undefined
      if (signal.aborted) discardBody(body)
      if (!(body instanceof Readable)) clearTimeout(timer) // a stream must end by the deadline
      resolve(returned)
    }
    const onError = (error: unknown): void => {
      clearTimeout(timer)
      reject(error)
    }
    result.then(onReturn).catch(onError) // also if a late body cannot be discarded
  })
}

/** Maps an error of a provider's code to a fault: a refusal in full, any other by its kind only. */
export function providerFault(error: unknown, slug: string, log: Log): Fault {
  if (error instanceof Fault) return error
  if (error instanceof RenderError) {
    const { code, message, cause, location } = error
    return new Fault(code, message, { cause, extras: location === undefined ? {} : { location } })
  }
  if (error instanceof Refusal) {
    const { code, status, message, extras } = error
    const faultCode = faultCodeOf(code, status === 404 ? 'not_found' : 'refused')
    return new Fault(faultCode, message, { extras: { reason: code, ...extras } })
  }
  if (error instanceof Failure) return failureFault(error)
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new Fault('timeout', undefined, { extras: { reason: 'deadline' }, cause: error })
  }
  // Plugins of the hub itself share its database.
  if (!(error instanceof IsolatedError) && componentOf(error) === 'database')
    return new Fault('service_unavailable', undefined, { cause: error })
  log.warn({ err: error, service: slug }, 'a handler threw')
  return new Fault('plugin_failed', undefined, {
    extras: { reason: 'handler_threw' },
    cause: error,
  })
}

/** Codes of services that sell pages, each a fault code of the hub. */
export const PAGE_FAULTS: readonly FaultCode[] = [
  'domain_not_registered',
  'page_not_for_sale',
  'page_denied',
  'page_not_found',
  'robots_disallowed',
  'content_unavailable',
  'content_empty',
  'content_unreadable',
  'content_type_unsupported',
  'content_redirected',
]

/** Codes of services that call an upstream, each a fault code of the hub. */
export const UPSTREAM_FAULTS: readonly FaultCode[] = [
  'upstream_error',
  'upstream_redirect',
  'upstream_timeout',
  'upstream_tls',
  'upstream_too_large',
  'upstream_unreachable',
]

const faultCodeOf = (code: string, otherwise: FaultCode): FaultCode =>
  [...PAGE_FAULTS, ...UPSTREAM_FAULTS].find((each) => each === code) ?? otherwise

const FAILURE_CODES = {
  502: 'plugin_failed',
  503: 'plugin_unavailable',
  504: 'timeout',
} as const satisfies Record<Failure['status'], FaultCode>

const failureFault = ({
  status,
  code,
  message,
  extras,
  retryAfterSeconds: after,
}: Failure): Fault =>
  new Fault(faultCodeOf(code, FAILURE_CODES[status]), message, {
    extras: { ...extras, reason: code },
    ...(after !== undefined && { headers: { 'Retry-After': String(Math.ceil(after)) } }),
  })

/** Measures only long texts, in which characters may have up to three bytes. */
const isLarge = (text: string): boolean =>
  text.length * 3 > LARGE_BYTES && Buffer.byteLength(text) > LARGE_BYTES

/**
 * Returns the body as it is sent: a large JSON value as bytes, so that it is serialized only once.
 * @throws Fault `plugin_contract` if the response cannot be sent
 */
export function sendableBody({ status, headers, body }: Reply): unknown {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw unsendable('needs an HTTP status of 200 to 599')
  }
  // Clients pay, or send their credentials to, whom such a response names in a header or its body.
  if (HUB_STATUSES.has(status)) throw unsendable(`has status ${status}, which only the hub sends`)
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    if (body instanceof Uint8Array || body instanceof Readable) return body
    const text = JSON.stringify(body ?? null)
    if (text === undefined) throw new TypeError('no JSON') // a function, for example
    return isLarge(text) ? Buffer.from(text) : body
  } catch (error) {
    throw unsendable('has a header or body that cannot be sent', error)
  }
}

const unsendable = (why: string, cause?: unknown): Fault =>
  new Fault('plugin_contract', `The response of the service ${why}.`, {
    extras: { reason: 'answer_not_sendable' },
    cause,
  })
