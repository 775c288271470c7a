import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Clock,
  EgressError,
  type EgressResponse,
  type Host,
  retryAfterSeconds,
} from 'agenthub/plugin'
import { IngestFailure } from './failure.ts'
import { type Page, readPage, searchBody } from './search.ts'
import type { Settings } from './settings.ts'

/** Result of requesting a notice, which is rendered on demand and available for minutes. */
export type NoticeResponse =
  | { readonly state: 'document'; readonly xml: Buffer }
  | { readonly state: 'rendering' | 'absent' | 'html' }

/** The official journal. Sends one request at a time, at the pace of `Settings`. */
export interface Ted {
  /** @throws IngestFailure `contradiction` if a token has expired */
  search(query: string, token?: string): Promise<Page>
  requestNotice(number: string): Promise<NoticeResponse>
  /** @param issue as in `157/2026` @throws IngestFailure `no_package` */
  package(issue: string): Promise<Readable>
  /** Renews the claim of the only worker. @throws IngestFailure `displaced` */
  renewClaim(): Promise<void>
  /** Waits, unless aborted. */
  wait(ms: number): Promise<void>
  /** Aborted when ingestion has to stop. */
  readonly signal: AbortSignal
}

export interface TedOptions {
  readonly http: Host['http']
  readonly clock: Clock
  readonly settings: Settings
  /** User agent with a contact, as the Publications Office requests. */
  readonly userAgent: string
  readonly signal: AbortSignal
  /** Called before every request to check the claim. */
  readonly renewClaim: () => Promise<void>
}

type TedRequest = Pick<Parameters<Host['http']['request']>[0], 'url' | 'method' | 'body'> & {
  readonly maxBytes: number
  readonly streams?: boolean
  /** Statuses that are not retried. */
  readonly statuses: readonly number[]
}

/** Opens the journal. Every method throws the reason of `signal` once it is aborted. */
export function openTed(options: TedOptions): Ted {
  const { settings, signal, renewClaim } = options
  const { api, site, limits, pageSize } = settings
  const send = sender(options)
  return {
    async search(query, token) {
      const { status, body } = await send({
        url: `${api}/v3/notices/search`,
        method: 'POST',
        body: searchBody(query, pageSize, token),
        maxBytes: limits.page,
        // 500 is the response to an unknown token.
        statuses: token === undefined ? [200, 400] : [200, 400, 500],
      })
      if (status === 500) throw new IngestFailure('contradiction', 'the token is not known')
      return readPage(status, body.toString('utf8'))
    },
    async requestNotice(number) {
      const { status, body } = await send({
        url: `${site}/en/notice/${number}/xml`,
        method: 'GET',
        maxBytes: limits.document,
        statuses: [200, 202, 404, 410],
      })
      if (status === 404 || status === 410) return { state: 'absent' }
      if (status === 202 || body.length === 0) return { state: 'rendering' }
      return isHtml(body) ? { state: 'html' } : { state: 'document', xml: body }
    },
    async package(issue) {
      const [ordinal = '', year = ''] = issue.split('/')
      const { status, body, stream } = await send({
        url: `${site}/packages/daily/${year}${ordinal.padStart(5, '0')}`,
        method: 'GET',
        // Larger packages, in practice all, are streamed.
        maxBytes: 65_536,
        streams: true,
        statuses: [200, 404, 410],
      })
      if (status === 200) return stream ?? Readable.from([body])
      throw new IngestFailure('no_package', `status ${status} for issue ${issue}`)
    },
    renewClaim,
    wait: (ms) => delay(ms, undefined, { signal }),
    signal,
  }
}

const isHtml = (body: Buffer): boolean =>
  /^\ufeff?\s*<(!doctype\s+html|html)\b/i.test(body.subarray(0, 256).toString('utf8'))

/** Sends at the configured pace and retries lost connections, 429 and 5xx. */
function sender({ http, clock, settings, userAgent, signal, renewClaim }: TedOptions) {
  const { paceMs, retries, backoffMs } = settings
  let free = 0
  const turn = async (): Promise<void> => {
    signal.throwIfAborted()
    await delay(Math.max(0, free - performance.now()), undefined, { signal })
    await renewClaim()
    free = performance.now() + paceMs
  }
  return async ({ statuses, ...request }: TedRequest): Promise<EgressResponse> => {
    for (let tries = 0; ; tries++) {
      await turn()
      const response = await attempt(http, { ...request, signal }, userAgent)
      signal.throwIfAborted()
      if (!('reason' in response) && statuses.includes(response.status)) return response
      const failure = 'reason' in response ? response.reason : `status ${response.status}`
      if (tries === retries || ('reason' in response && response.final)) {
        throw new IngestFailure('unreachable', `${failure} from ${new URL(request.url).pathname}`)
      }
      const requestedMs =
        'reason' in response ? undefined : requestedDelay(response, clock.now(), settings)
      const backoff = Math.min(backoffMs * 2 ** tries, 60_000) * (0.5 + Math.random())
      await delay(Math.max(requestedMs ?? 0, backoff), undefined, { signal })
    }
  }
}

interface FailedAttempt {
  readonly reason: string
  /** Failure that a retry would repeat. */
  readonly final: boolean
}

async function attempt(
  http: Host['http'],
  request: Parameters<Host['http']['request']>[0],
  userAgent: string,
): Promise<EgressResponse | FailedAttempt> {
  const { body } = request
  const headers = {
    'user-agent': userAgent,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  try {
    return await http.request({ ...request, headers })
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    return { reason: error.code, final: FINAL.has(error.code) }
  }
}

const FINAL: ReadonlySet<string> = new Set([
  'validation_failed',
  'destination_not_allowed',
  'upstream_too_large',
  'upstream_redirect',
])

/** Delay in ms. @throws IngestFailure `blocked` if too long, and for 403 (too many requests) */
function requestedDelay(
  { status, headers }: EgressResponse,
  now: Date,
  { retryAfterMaxMs, quietMs }: Settings,
): number | undefined {
  const seconds = status === 429 || status === 503 ? retryAfterSeconds(headers) : undefined
  const requestedMs = seconds === undefined ? undefined : seconds * 1_000
  if (status !== 403 && (requestedMs === undefined || requestedMs <= retryAfterMaxMs))
    return requestedMs
  const until = new Date(now.getTime() + Math.min(requestedMs ?? quietMs, 86_400_000))
  throw new IngestFailure('blocked', `status ${status}; quiet until ${until.toISOString()}`, until)
}
