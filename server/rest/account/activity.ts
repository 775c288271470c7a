import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type ActivityLine,
  listActivity,
  type OwnerAct,
  type OwnerChange,
  recordChange,
} from '../../../core/audit/activity.ts'
import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, type RestRequest, route, sessionOf } from '../route.ts'

type AnyRequest = RestRequest<unknown, unknown>

/** Change that a route makes. */
interface RecordedChange {
  readonly act: OwnerAct
  /** Member of the response that names the object of the change. */
  readonly subject: 'key_id' | 'provider_id' | 'wallet_address' | 'webhook_id'
  /** New values, without secrets. */
  readonly details?: (request: AnyRequest, response: JsonObject) => JsonObject
}

const inputOf = ({ body }: AnyRequest): JsonObject => (body ?? {}) as JsonObject

const members =
  (...names: readonly string[]) =>
  (_: AnyRequest, response: JsonObject): JsonObject =>
    Object.fromEntries(names.map((name) => [name, response[name]]))

const key = (act: OwnerAct, details?: RecordedChange['details']): RecordedChange => ({
  act,
  subject: 'key_id',
  ...(details && { details }),
})

const payout = (act: OwnerAct): RecordedChange => ({
  act,
  subject: 'provider_id',
  details: members('address', 'requested_address', 'next_address', 'next_at'),
})

/** Addresses of webhooks may contain secrets: only their host is recorded. */
const webhook = (act: OwnerAct): RecordedChange => ({
  act,
  subject: 'webhook_id',
  details: (_, { url, events }) =>
    typeof url === 'string' ? { host: new URL(url).host, events } : {},
})

/** Routes that change what an account owns, by method and path. */
const RECORDED: Readonly<Record<string, RecordedChange>> = {
  'POST /v1/keys': key('key.create', inputOf),
  'POST /v1/provider/keys': key('key.create', inputOf),
  'PATCH /v1/keys/{id}': key('key.change', inputOf),
  'POST /v1/keys/{id}/rotate': key('key.rotate', inputOf),
  'POST /v1/keys/{id}/freeze': key('key.freeze', inputOf),
  'POST /v1/keys/{id}/thaw': key('key.thaw'),
  'DELETE /v1/keys/{id}': key(
    'key.revoke',
    members('credits_to', 'moved_microdollars', 'left_microdollars'),
  ),
  'PUT /v1/provider/payout-address': payout('payout.set'),
  'POST /v1/provider/payout-address/authorization': payout('payout.authorize'),
  'DELETE /v1/provider/payout-address': payout('payout.cancel'),
  'POST /v1/account/wallets': { act: 'wallet.link', subject: 'wallet_address' },
  'DELETE /v1/account/wallets/{address}': { act: 'wallet.unlink', subject: 'wallet_address' },
  'POST /v1/webhooks': webhook('webhook.create'),
  'PATCH /v1/webhooks/{id}': webhook('webhook.change'),
  'POST /v1/webhooks/{id}/rotate': webhook('webhook.rotate'),
  'DELETE /v1/webhooks/{id}': webhook('webhook.delete'),
}

export interface ActivityDeps {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
}

/** Makes the routes that change what an account owns record who did so. */
export function withActivity(routes: readonly AnyRoute[], deps: ActivityDeps): readonly AnyRoute[] {
  const names = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  const missing = Object.keys(RECORDED).filter((name) => !names.has(name))
  if (missing.length > 0) throw new TypeError(`no such route: ${missing.join(', ')}`)
  return routes.map((each) => {
    const recorded = RECORDED[`${each.method} ${each.path}`]
    return recorded ? recordedRoute(each, recorded, deps) : each
  })
}

/**
 * Route that records its change once it is made. A line that cannot be written is logged: the
 * response, which may contain a new secret, must reach its caller.
 */
const recordedRoute = (
  made: AnyRoute,
  recorded: RecordedChange,
  { pool, clock, log }: ActivityDeps,
): AnyRoute => ({
  ...made,
  handle: async (request) => {
    const reply = await made.handle(request)
    const { act } = recorded
    try {
      const id = uuidv7(clock.now().getTime())
      const change = { id, ...authorOf(request), ...describe(recorded, request, reply.body) }
      if (!(await recordChange(pool, change))) log.warn({ act }, 'too many changes of an account')
    } catch (err) {
      log.error({ err, act }, 'failed to record a change of an account')
    }
    return reply
  },
})

function describe(
  { act, subject, details }: RecordedChange,
  request: AnyRequest,
  body: unknown,
): Pick<OwnerChange, 'act' | 'subject' | 'details'> {
  const response = body as JsonObject
  const named = response[subject]
  return {
    act,
    subject: typeof named === 'string' ? named : '',
    details: details?.(request, response) ?? {},
  }
}

/** Session or key that made a request. */
function authorOf({ caller, session, ip }: AnyRequest) {
  const network = networkPrefix(ip)
  if (caller) {
    const { keyId, principal } = caller
    return { principal, author: keyId, via: keyId, network }
  }
  const { id, person, name } = sessionOf({ session })
  return { principal: person, author: name, via: id, network }
}

const ActivityView = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  author: z.string().nullable().meta({
    description: 'Email address, wallet or key id. null: staff of the platform.',
  }),
  via: z.string().nullable().meta({ description: 'Id of the session or key.' }),
  network: z.string().nullable().meta({ description: 'Network: an IPv4 /24 or IPv6 /64.' }),
  act: z.string().meta({ description: 'Such as key.create, key.change or payout.set.' }),
  subject: z.string().meta({ description: 'Id of the key, webhook or provider, or a wallet.' }),
  details: z.record(z.string(), z.unknown()).meta({ description: 'The new values.' }),
})

export type ActivityJson = z.infer<typeof ActivityView>

export const activityRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/account/activity', {
    summary: 'Lists who changed keys, limits, payout address, wallets and webhooks, newest first.',
    auth: 'session',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(ActivityView) },
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.iso.datetime(), z.string().max(40)]))
      const rows = await listActivity(pool, sessionOf(request).principals, limit + 1, after)
      const position = ({ at, id }: ActivityLine) => [at.toISOString(), id]
      return toPage(rows, limit, request.url, position, (line) => ({
        ...line,
        at: line.at.toISOString(),
      }))
    },
  }),
]
