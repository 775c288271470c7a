import {
  type Call,
  EgressError,
  type EgressResponse,
  Failure,
  Refusal,
  Reply,
  retryAfterSeconds,
  type Upstream,
  type UpstreamEndpoint,
} from 'agenthub/plugin'
import { containsSecret, guardSecrets } from './secrets.ts'
import { parse, reportUsage } from './usage.ts'

/** Response headers that are always relayed; the provider may name more. */
const RELAYED_HEADERS: readonly string[] = [
  'content-disposition',
  'content-language',
  'content-range',
  'content-type',
  'last-modified',
  'link',
  'retry-after',
]

/** Statuses of responses without a body. */
const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205])
/** Only the hub parses larger bodies, in a worker, with the output schema. */
const PARSED_BYTES_MAX = 262_144
/** Bytes of a refused response shown to callers. */
const SHOWN_BYTES = 2_048

/**
 * Delivers and charges by the endpoint's policy.
 * @param meter reports the usage of a metered endpoint
 * @throws Failure `upstream_error`
 */
export function replyOf(
  upstream: Upstream,
  endpoint: UpstreamEndpoint,
  response: EgressResponse,
  meter: Call<unknown>['meter'],
): Reply {
  const { status, headers, body, stream } = response
  try {
    const passes = endpoint.passes.includes(status)
    if (!passes && !endpoint.success.includes(status)) {
      throw isFaultOfCaller(status)
        ? requestRefusal(upstream, response)
        : refusalFailure(upstream, response)
    }
    if (encodingOf(response))
      throw brokenFailure(response, 'It is compressed, though it was not to be.')
    if (repeatsSecret(upstream, response)) throw brokenFailure(response, 'It repeats a secret.')
    const isSuccess = !passes && !stream && !BODILESS_STATUSES.has(status)
    if (isSuccess && body.length === 0) throw brokenFailure(response, 'It is empty.')
    const mustBeJson = isSuccess && endpoint.output && body.length <= PARSED_BYTES_MAX
    const hasUsage = endpoint.metered?.pointer !== undefined
    const document = mustBeJson || hasUsage ? parse(body) : undefined
    if (mustBeJson && document === undefined) throw brokenFailure(response, 'It is no JSON.')
    const shown = pick(headers, [...RELAYED_HEADERS, ...upstream.responseHeaders])
    const sent = stream ? guardSecrets(stream, upstream.injected) : body
    const isCharged = endpoint.charges?.includes(status) === true
    if (endpoint.metered && (isCharged || !passes))
      reportUsage(endpoint.metered, headers, document, meter)
    return new Reply(sent, { status, headers: shown, isCharged })
  } catch (error) {
    stream?.destroy()
    throw error
  }
}

/** Converts an exchange error to a failure. */
export function failureOf(upstream: Upstream, error: unknown): unknown {
  if (error instanceof DOMException) return error // the hub's deadline
  if (!(error instanceof EgressError)) return error
  const { code, message, response } = error
  if (code === 'validation_failed') return new Refusal('request_not_allowed', message)
  const extras = response ? { upstream: describeBody(upstream, response) } : {}
  if (code === 'upstream_timeout') return new Failure(504, code, message, extras)
  const known = code === 'destination_not_allowed' ? 'upstream_unreachable' : code
  return new Failure(502, known, message, extras)
}

/** Client errors about the provider's own credential, money or quota, not the caller's request. */
const PROVIDER_STATUSES: ReadonlySet<number> = new Set([
  401, 402, 403, 407, 408, 421, 425, 426, 429,
])

/**
 * Decides whose fault an undeclared status is: of the caller whose request the API refuses, or of
 * the provider, which counts as a failure and as downtime.
 */
const isFaultOfCaller = (status: number): boolean =>
  status >= 400 && status < 500 && !PROVIDER_STATUSES.has(status)

function requestRefusal(upstream: Upstream, response: EgressResponse): Refusal {
  const detail = `The API refused the request with status ${response.status}; see upstream.`
  return new Refusal('request_refused', detail, { upstream: describeBody(upstream, response) })
}

function refusalFailure(upstream: Upstream, response: EgressResponse): Failure {
  const { status, headers } = response
  const after = retryAfterSeconds(headers)
  return new Failure(502, 'upstream_error', `The API of the provider returned status ${status}.`, {
    upstream: describeBody(upstream, response),
    ...(after !== undefined && { retryAfterSeconds: after }),
  })
}

const brokenFailure = ({ status }: EgressResponse, why: string): Failure =>
  new Failure(502, 'upstream_error', `The response of the provider cannot be delivered. ${why}`, {
    upstream: { status },
  })

function describeBody(upstream: Upstream, response: EgressResponse) {
  const { status, headers, body } = response
  const type = headers['content-type']
  const text = repeatsSecret(upstream, response) ? '' : body.toString('utf8', 0, SHOWN_BYTES)
  return { status, ...(type !== undefined && { content_type: type }), ...(text && { body: text }) }
}

const encodingOf = ({ headers }: EgressResponse): boolean =>
  ![undefined, '', 'identity'].includes(headers['content-encoding']?.toString().toLowerCase())

const repeatsSecret = ({ injected }: Upstream, { headers, body }: EgressResponse): boolean =>
  injected.length > 0 &&
  (containsSecret(injected, body) ||
    containsSecret(injected, Object.values(headers).flat().join('\n')))

function pick(headers: EgressResponse['headers'], names: readonly string[]) {
  const out: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) out[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return out
}
