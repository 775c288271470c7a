import type { Pool } from 'pg'
import { z } from 'zod'
import { findSoldServices } from '../../../core/usage/provider-statistics.ts'
import {
  type FailedCall,
  readRecentFailures,
  SEARCHED_CALLS,
} from '../../../core/usage/recent-failures.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const FAILURES_MAX = 20

const FailureView = z.object({
  at: z.iso.datetime(),
  endpoint: z.string().nullable().meta({ description: 'null: the endpoint was deleted.' }),
  status: z.int().meta({ description: 'HTTP status that the caller got.' }),
  reason: z.string().nullable().meta({ description: 'Code of the error.' }),
  latency_ms: z.int().min(0),
})

export type FailureJson = z.infer<typeof FailureView>

const showFailure = ({ at, endpoint, status, reason, latencyMs }: FailedCall): FailureJson => ({
  at: at.toISOString(),
  endpoint,
  status,
  reason,
  latency_ms: latencyMs,
})

export const failureRoutes = (pool: Pool): readonly AnyRoute[] => [
  route('GET /v1/provider/failures', {
    summary: `Lists the latest failed calls of a service, among its newest ${SEARCHED_CALLS}.`,
    auth: 'provider',
    query: z.strictObject({ service: z.string().max(40) }),
    response: { status: 200, schema: z.object({ data: z.array(FailureView) }) },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => {
      const { service } = request.query
      await findSoldServices(pool, ownerOf(request), service)
      const failed = await readRecentFailures(pool, service, FAILURES_MAX)
      return { body: { data: failed.map(showFailure) } }
    },
  }),
]
