import { elapsedMs } from '../../../clock.ts'
import { EgressError } from '../../../egress/errors.ts'
import type { Egress } from '../../../egress/http.ts'
import type { ListingMethod } from '../store.ts'
import { judgeAnswer, judgeFailure, type Verdict } from './judge.ts'

/** A verdict, and how long the answer took. */
export interface Probed extends Verdict {
  readonly latencyMs: number
}

const OFFER_BYTES = 262_144
const TIMEOUTS = { headersMs: 10_000, bodyMs: 5_000, totalMs: 15_000 } as const

/**
 * Asks a resource once, without a payment: a probe never pays, and follows no redirect. A method
 * that takes a body brings an empty object, as crawlers of x402 do.
 */
export async function probe(
  egress: Egress,
  { method, url }: { readonly method: ListingMethod; readonly url: string },
): Promise<Probed> {
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
      maxBytes: OFFER_BYTES,
      timeouts: TIMEOUTS,
    })
    .then(
      (response) => judgeAnswer(response, url),
      (error: unknown) => {
        if (error instanceof EgressError) return judgeFailure(error)
        throw error
      },
    )
  return { ...verdict, latencyMs: Math.round(elapsedMs() - start) }
}
