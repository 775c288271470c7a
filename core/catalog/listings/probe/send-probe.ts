import { elapsedMs } from '../../../clock.ts'
import { EgressError } from '../../../egress/errors.ts'
import type { Egress } from '../../../egress/http.ts'
import type { ListingMethod } from '../store.ts'
import { classifyFailure, classifyResponse, type ProbeVerdict } from './classify-response.ts'

/** Verdict with the response time. */
export interface ProbeResult extends ProbeVerdict {
  readonly latencyMs: number
}

const OFFER_BYTES_MAX = 262_144
const TIMEOUTS = { headersMs: 10_000, bodyMs: 5_000, totalMs: 15_000 } as const

/**
 * Requests a resource once, unpaid and without redirects. A body is an empty object.
 * @param buysMetered true if the hub pays metered prices
 */
export async function sendProbe(
  egress: Egress,
  { method, url }: { readonly method: ListingMethod; readonly url: string },
  buysMetered?: boolean,
): Promise<ProbeResult> {
  const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const start = elapsedMs()
  const verdict = await egress
    .request({
      url,
      method,
      headers: {
        accept: 'application/json, */*;q=0.5',
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
      },
      body: hasBody ? '{}' : undefined,
      maxBytes: OFFER_BYTES_MAX,
      timeouts: TIMEOUTS,
    })
    .then(
      (response) => classifyResponse(response, url, buysMetered),
      (error: unknown) => {
        if (error instanceof EgressError) return classifyFailure(error)
        throw error
      },
    )
  return { ...verdict, latencyMs: Math.round(elapsedMs() - start) }
}
