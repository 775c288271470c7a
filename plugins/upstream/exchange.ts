import { setTimeout as pause } from 'node:timers/promises'
import {
  EgressError,
  type EgressRequest,
  type EgressResponse,
  type Upstream,
  type UpstreamEndpoint,
} from 'agenthub/plugin'

const PAUSE_MS = 100
/** What a server in front of the upstream says when it has not asked it, or got no answer. */
const PASSING: ReadonlySet<number> = new Set([502, 503, 504])

/**
 * Asks the upstream; again where that does no harm. What provably never left may be sent again
 * always, anything else only where twice does no more than once.
 * @throws EgressError
 */
export async function exchange(
  way: Upstream['way'],
  { retries, idempotent }: Pick<UpstreamEndpoint, 'retries' | 'idempotent'>,
  request: EgressRequest,
): Promise<EgressResponse> {
  for (let tries = 0; ; tries++) {
    const last = tries >= retries || request.signal?.aborted === true
    try {
      const response = await way.request(request)
      if (last || !idempotent || !PASSING.has(response.status)) return response
      response.stream?.destroy()
    } catch (error) {
      if (last || !isPassing(error, idempotent)) throw error
    }
    await pause(PAUSE_MS * 2 ** tries, undefined, { signal: request.signal ?? undefined })
  }
}

const isPassing = (error: unknown, idempotent: boolean): boolean =>
  error instanceof EgressError &&
  error.code === 'upstream_unreachable' &&
  (idempotent || !error.sent)
