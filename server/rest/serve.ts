import type { Context, Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'
import { deprecationHeaders } from '../../core/plugin/deprecation.ts'
import type { AccountStatus } from '../../core/usage/account-status.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import { readJson } from '../http/body.ts'
import { PUBLIC_CORS_HEADERS } from '../http/cors.ts'
import { readSingleHeader, requestIdOf, send } from '../http/exchange.ts'
import { markPublic } from '../http/finalize-response.ts'
import { readForm } from '../http/form-body.ts'
import { withReceipt } from '../http/payment-headers.ts'
import { readQuery } from '../http/query.ts'
import { traceOf } from '../observability/trace.ts'
import { type AuthenticationDeps, authenticate } from './authentication.ts'
import { handleRoute } from './handle-route.ts'
import { type AnyRoute, assertNames, parse, type RestReply } from './route.ts'
import { findStaff, requiredRole, runAsStaff, type StaffDeps } from './staff.ts'

export interface RestDeps extends AuthenticationDeps, StaffDeps {
  readonly staff: StaffDeps['staff']
  readonly limits: RateLimits
  readonly accountStatus: AccountStatus
}

/** Fresh for 30 s, then served stale during revalidation (RFC 5861). */
const SHARED_CACHE_CONTROL = 'public, max-age=30, stale-while-revalidate=300'

/** Serves a route: authenticates, applies the rate limit, checks role and input, then handles. */
export const serveRest =
  (route: AnyRoute, deps: RestDeps): Middleware =>
  async (ctx) => {
    const { limits, accountStatus, baseUrl } = deps
    const trace = traceOf(ctx)
    trace.route = route.path
    if (route.shared) {
      markPublic(ctx)
      ctx.set(PUBLIC_CORS_HEADERS)
    }
    const params = (ctx['params'] as Record<string, string> | undefined) ?? {}
    assertNames(params)
    if (!URL.canParse(ctx.url, baseUrl())) throw new Fault('malformed_path')
    const url = new URL(`${ctx.path}${ctx.search}`, baseUrl()) // ignores the Host header
    const identity = await trace.step('authenticate', () => authenticate(ctx, route, deps))
    const { caller, providerCaller, session } = identity
    trace.keyId = (caller ?? providerCaller)?.keyId
    const rate = await trace.step('limit', async () =>
      caller
        ? limits.key(caller, await accountStatus.tier(caller.credits))
        : route.unlimited
          ? undefined
          : limits.address(ctx.ip),
    )
    if (rate) ctx.set({ ...rate.headers }) // also sent if the request fails later
    const origin = { ip: ctx.ip, requestId: requestIdOf(ctx) }
    const staff = requiredRole(route) && (await findStaff(identity, origin, deps))
    const handle = async (): Promise<RestReply> => {
      const input = await readInput(ctx, route)
      const header = (name: string) => readSingleHeader(ctx, name)
      const callers = { caller, providerCaller, session, staff }
      const request = { ...origin, url: url.href, params, ...input, ...callers, header }
      return trace.step('handle', () => handleRoute(route, request))
    }
    const reply = await runAsStaff(route, { path: url.pathname, identity, staff }, deps, handle)
    const headers = {
      'X-Charged-Microdollars': '0',
      'Cache-Control': route.shared ? SHARED_CACHE_CONTROL : 'no-store',
      ...locationOf(route, reply),
      ...reply.headers,
    }
    send(ctx, {
      status: reply.status ?? 200,
      headers: withReceipt(headers, (name) => readSingleHeader(ctx, name)),
      body: reply.body,
    })
    for (const [name, value] of Object.entries(deprecationHeaders(route.deprecated))) {
      ctx.append(name, value)
    }
  }

/** Reads and checks the body and the query. @throws Fault `validation_failed` and others */
async function readInput(ctx: Context, route: AnyRoute) {
  const readBody = route.acceptsForm ? readForm : readJson
  return {
    body: route.body ? parse(route.body, (await readBody(ctx.req)) ?? {}) : undefined,
    query: route.query && parse(route.query, readQuery(ctx)),
  }
}

/** `Location` of a created resource (RFC 9110 §10.2.2). */
function locationOf({ response }: AnyRoute, { status, body }: RestReply): Record<string, string> {
  if (status !== 201 || response.location === undefined) return {}
  const memberOf = (path: string): unknown =>
    path.split('.').reduce((at, name) => (at as Record<string, unknown>)[name], body)
  const encode = (_: string, path: string) => encodeURIComponent(String(memberOf(path)))
  return { Location: response.location.replaceAll(/\{([\w.]+)\}/g, encode) }
}
