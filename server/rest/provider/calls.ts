import type { Pool } from 'pg'
import { z } from 'zod'
import { json } from '../../../core/money.ts'
import type { PurposeKeys } from '../../../core/secret-keys/purpose-keys.ts'
import { SEARCHED_CALLS } from '../../../core/usage/call-list.ts'
import { findSoldServices } from '../../../core/usage/provider-statistics.ts'
import {
  listServiceCalls,
  SERVICE_CALL_OUTCOMES,
  type ServiceCall,
} from '../../../core/usage/service-calls.ts'
import { dayBounds, dayFields } from '../days.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const ServiceCallView = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  endpoint: z.string().nullable().meta({ description: 'null: the endpoint was deleted.' }),
  customer: z.string().meta({ description: 'Pseudonym, stable for each caller.' }),
  outcome: z.string().meta({ description: 'delivered, failed, taken or unresolved.' }),
  status: z.int().meta({ description: 'HTTP status that the caller got.' }),
  reason: z.string().nullable().meta({ description: 'Code of the error.' }),
  latency_ms: z.int().min(0),
  charged_microdollars: z.int().min(0).meta({ description: 'Paid by the caller.' }),
})

export type ServiceCallJson = z.infer<typeof ServiceCallView>

const showCall = ({ at, charged, latencyMs, ...call }: ServiceCall): ServiceCallJson => ({
  id: call.id,
  at: at.toISOString(),
  endpoint: call.endpoint,
  customer: call.customer,
  outcome: call.outcome,
  status: call.status,
  reason: call.reason,
  latency_ms: latencyMs,
  charged_microdollars: json(charged),
})

const cursorShape = z.tuple([z.iso.datetime(), z.uuid()])

export interface ServiceCallDeps {
  readonly pool: Pool
  /** Key of callers' pseudonyms. */
  readonly callerNames: PurposeKeys
}

export const serviceCallRoutes = ({ pool, callerNames }: ServiceCallDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/calls', {
    summary: 'Lists calls of one of your services, newest first.',
    auth: 'provider',
    query: listQuery({
      service: z.string().min(1).max(40),
      outcome: z
        .enum(SERVICE_CALL_OUTCOMES)
        .optional()
        .meta({
          description: `Only these calls. Each page looks at ${SEARCHED_CALLS} calls.`,
        }),
      ...dayFields,
    }),
    response: { status: 200, schema: pageSchema(ServiceCallView) },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => {
      const { service, outcome, limit, cursor } = request.query
      const { providers } = await findSoldServices(pool, ownerOf(request), service)
      const { rows, searchedTo } = await listServiceCalls(pool, {
        service,
        outcome,
        limit: limit + 1,
        after: readCursor(cursor, cursorShape),
        providers,
        secret: callerNames.current.material,
        ...dayBounds(request.query),
      })
      const position = ({ id, at }: ServiceCall) => [at.toISOString(), id]
      return toPage(rows, limit, request.url, position, showCall, searchedTo)
    },
  }),
]
