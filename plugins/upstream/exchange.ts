import { setTimeout as pause } from 'node:timers/promises'
import {
  EgressError,
  type EgressRequest,
  type EgressResponse,
  type Upstream,
  type UpstreamEndpoint,
} from 'agenthub/plugin'

const PAUSE_MS = 100
/** Statuses of a gateway that did not reach the upstream or got no response. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])

/** Retries if the request provably never left or is idempotent. @throws EgressError */
export async function exchange(
  way: Upstream['way'],
  { retries, idempotent }: Pick<UpstreamEndpoint, 'retries' | 'idempotent'>,
  request: EgressRequest,
): Promise<EgressResponse> {
  for (let tries = 0; ; tries++) {
    const last = tries >= retries || request.signal?.aborted === true
    try {
      const response = await way.request(request)
      if (last || !idempotent || !TRANSIENT_STATUSES.has(response.status)) return response
      response.stream?.destroy()
    } catch (error) {
      if (last || !isTransient(error, idempotent)) throw error
    }
    await pause(PAUSE_MS * 2 ** tries, undefined, { signal: request.signal ?? undefined })
  }
}

const isTransient = (error: unknown, idempotent: boolean): boolean =>
  error instanceof EgressError &&
  error.code === 'upstream_unreachable' &&
  (idempotent || !error.sent)
