import type { Pool } from 'pg'
import { z } from 'zod'
import { csvLine } from '../../../core/ledger/export/csv.ts'
import { dollars, json } from '../../../core/money.ts'
import type { PurposeKeys } from '../../../core/secret-keys/purpose-keys.ts'
import { SEARCHED_CALLS } from '../../../core/usage/call-list.ts'
import { findSoldServices } from '../../../core/usage/provider-statistics.ts'
import {
  FILE_CALLS_MAX,
  listServiceCalls,
  readServiceCalls,
  SERVICE_CALL_OUTCOMES,
  type ServiceCall,
} from '../../../core/usage/service-calls.ts'
import { ResponseStream } from '../../http/response-stream.ts'
import { dayBounds, dayFields } from '../days.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, ownerOf, type RestRequest, route } from '../route.ts'

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

const Filters = z.object({
  service: z.string().min(1).max(40),
  outcome: z
    .enum(SERVICE_CALL_OUTCOMES)
    .optional()
    .meta({ description: `Only these calls. Each page looks at ${SEARCHED_CALLS} calls.` }),
  ...dayFields,
})

export const serviceCallRoutes = (deps: ServiceCallDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/calls', {
    summary: 'Lists calls of one of your services, newest first.',
    auth: 'provider',
    query: listQuery(Filters.shape),
    response: { status: 200, schema: pageSchema(ServiceCallView) },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const { rows, searchedTo } = await listServiceCalls(deps.pool, {
        ...(await callsQuery(deps, request)),
        limit: limit + 1,
        after: readCursor(cursor, cursorShape),
      })
      const position = ({ id, at }: ServiceCall) => [at.toISOString(), id]
      return toPage(rows, limit, request.url, position, showCall, searchedTo)
    },
  }),
  route('GET /v1/provider/calls.csv', {
    summary: `Downloads the newest ${FILE_CALLS_MAX} calls of one of your services as CSV.`,
    auth: 'provider',
    query: Filters,
    response: { status: 200, type: 'text/csv', schema: z.string() },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => {
      const query = await callsQuery(deps, request)
      return {
        headers: {
          'Content-Type': 'text/csv; charset=utf-8; header=present',
          'Content-Disposition': `attachment; filename="calls-${query.service}.csv"`,
        },
        body: ResponseStream.of(csvPages(deps.pool, query)),
      }
    },
  }),
]

/** Query of the owner's service that a request names. @throws Fault `service_not_found` */
async function callsQuery(
  { pool, callerNames }: ServiceCallDeps,
  request: RestRequest<unknown, z.infer<typeof Filters>>,
) {
  const { service, outcome } = request.query
  const { providers } = await findSoldServices(pool, ownerOf(request), service)
  const secret = callerNames.current.material
  return { service, outcome, providers, secret, ...dayBounds(request.query) }
}

const CSV_HEADER = [
  'at_utc',
  'call_id',
  'endpoint',
  'caller',
  'outcome',
  'status',
  'reason',
  'latency_ms',
  'charged_usd',
] as const

async function* csvPages(pool: Pool, query: Awaited<ReturnType<typeof callsQuery>>) {
  yield csvLine(CSV_HEADER)
  for await (const calls of readServiceCalls(pool, query)) yield calls.map(csvCall).join('')
}

const csvCall = (call: ServiceCall): string =>
  csvLine([
    call.at.toISOString(),
    call.id,
    call.endpoint ?? '',
    call.customer,
    call.outcome,
    String(call.status),
    call.reason ?? '',
    String(call.latencyMs),
    dollars(call.charged),
  ])
