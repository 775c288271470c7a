import {
  EgressError,
  type EgressResponse,
  Failure,
  Refusal,
  Reply,
  type Upstream,
  type UpstreamEndpoint,
} from 'agenthub/plugin'
import { tells, watched } from './secrets.ts'

/** Headers of an answer that come back by themselves; its owner may name more. */
const ANSWERED: readonly string[] = [
  'content-disposition',
  'content-language',
  'content-range',
  'content-type',
  'last-modified',
  'link',
  'retry-after',
]

/** Statuses whose answer has no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205])
/** How much of an answer that is refused callers are shown, in bytes. */
const SHOWN_BYTES = 2_048

/**
 * The answer of an upstream, by the charge policy of its endpoint: a status that is a success is
 * delivered and charged, one that passes is delivered for nothing, any other is a failure.
 * @throws Failure `upstream_error`
 */
export function replyOf(
  upstream: Upstream,
  endpoint: UpstreamEndpoint,
  response: EgressResponse,
): Reply {
  const { status, headers, body, stream } = response
  try {
    const passes = endpoint.passes.includes(status)
    if (!passes && !endpoint.success.includes(status)) throw refused(upstream, response)
    if (encodingOf(response)) throw broken(response, 'It is compressed, though it was not to be.')
    if (repeatsSecret(upstream, response)) throw broken(response, 'It repeats a secret.')
    const isSuccess = !passes && !stream && !BODILESS.has(status)
    if (isSuccess && body.length === 0) throw broken(response, 'It is empty.')
    if (isSuccess && endpoint.output && !isJson(body)) throw broken(response, 'It is no JSON.')
    const shown = pick(headers, [...ANSWERED, ...upstream.responseHeaders])
    const sent = stream ? watched(stream, upstream.injected) : body
    return new Reply(sent, { status, headers: shown })
  } catch (error) {
    stream?.destroy()
    throw error
  }
}

/** What is told of an exchange that failed. */
export function failureOf(upstream: Upstream, error: unknown): unknown {
  if (error instanceof DOMException) return error // the deadline of the hub
  if (!(error instanceof EgressError)) return error
  const { code, message, response } = error
  if (code === 'validation_failed') return new Refusal('request_not_allowed', message)
  const extras = response ? { upstream: shownOf(upstream, response) } : {}
  if (code === 'upstream_timeout') return new Failure(504, code, message, extras)
  const known = code === 'destination_not_allowed' ? 'upstream_unreachable' : code
  return new Failure(502, known, message, extras)
}

function refused(upstream: Upstream, response: EgressResponse): Failure {
  const { status, headers } = response
  const after = /^\d{1,5}$/.exec(String(headers['retry-after'] ?? ''))
  return new Failure(502, 'upstream_error', `The provider answered ${status}.`, {
    upstream: shownOf(upstream, response),
    ...(after && { retryAfterSeconds: Number(after[0]) }),
  })
}

const broken = ({ status }: EgressResponse, why: string): Failure =>
  new Failure(502, 'upstream_error', `The answer of the provider is not delivered. ${why}`, {
    upstream: { status },
  })

function shownOf(upstream: Upstream, response: EgressResponse) {
  const { status, headers, body } = response
  const type = headers['content-type']
  const text = repeatsSecret(upstream, response) ? '' : body.toString('utf8', 0, SHOWN_BYTES)
  return { status, ...(type !== undefined && { content_type: type }), ...(text && { body: text }) }
}

const encodingOf = ({ headers }: EgressResponse): boolean =>
  ![undefined, '', 'identity'].includes(headers['content-encoding']?.toString().toLowerCase())

const repeatsSecret = ({ injected }: Upstream, { headers, body }: EgressResponse): boolean =>
  injected.length > 0 &&
  (tells(injected, body) || tells(injected, Object.values(headers).flat().join('\n')))

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString('utf8'))
    return true
  } catch {
    return false
  }
}

function pick(headers: EgressResponse['headers'], names: readonly string[]) {
  const out: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) out[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return out
}
