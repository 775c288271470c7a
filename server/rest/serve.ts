import type { Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'
import { deprecationHeaders } from '../../core/plugin/deprecation.ts'
import type { Standing } from '../../core/usage/account-status.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import { readForm, readJson } from '../http/body.ts'
import { OPEN_TO_ALL } from '../http/cross-origin.ts'
import { header, requestIdOf, send } from '../http/exchange.ts'
import { share } from '../http/represent.ts'
import { traceOf } from '../observability/trace.ts'
import { type AnyRoute, assertNames, parse, type RestReply } from './route.ts'
import { assertRole, findStaff, neededRole, type StaffPorts } from './staff.ts'
import { type VisitorPorts, visitorOf } from './visitor.ts'

export interface RestPorts extends VisitorPorts, StaffPorts {
  readonly limits: RateLimits
  readonly standing: Standing
}

/** Half a minute old at most, or while a newer one is fetched (RFC 5861). */
const SHARED = 'public, max-age=30, stale-while-revalidate=300'

/** Checks what the route declares, and counts the caller, before its handler runs. */
export const serveRest =
  (route: AnyRoute, ports: RestPorts): Middleware =>
  async (ctx) => {
    const { limits, standing, baseUrl } = ports
    const trace = traceOf(ctx)
    trace.route = route.path
    if (route.shared) {
      share(ctx)
      ctx.set(OPEN_TO_ALL)
    }
    const params = (ctx['params'] as Record<string, string> | undefined) ?? {}
    assertNames(params)
    if (!URL.canParse(ctx.url, baseUrl())) throw new Fault('malformed_path')
    const url = new URL(`${ctx.path}${ctx.search}`, baseUrl()) // ours, whatever host was named
    const visitor = await trace.step('authenticate', () => visitorOf(ctx, route, ports))
    const { caller, seller } = visitor
    trace.keyId = (caller ?? seller)?.keyId
    const rate = await trace.step('limit', async () =>
      caller
        ? limits.key(caller, await standing.tier(caller.credits))
        : route.unlimited
          ? undefined
          : limits.address(ctx.ip),
    )
    if (rate) ctx.set({ ...rate.headers }) // also where the request fails later
    const origin = { ip: ctx.ip, requestId: requestIdOf(ctx) }
    const needed = neededRole(route)
    const staff = needed && assertRole(needed, await findStaff(visitor, origin, ports))
    const read = route.form ? readForm : readJson
    const body = route.body ? parse(route.body, (await read(ctx.req)) ?? {}) : undefined
    const query = route.query && parse(route.query, { ...ctx.query })
    const request = {
      ...origin,
      url: url.href,
      params,
      body,
      query,
      caller,
      seller,
      session: visitor.session,
      staff,
      header: (name: string) => header(ctx, name),
    }
    const reply = await trace.step('handle', () => route.handle(request))
    send(ctx, {
      status: reply.status ?? 200,
      headers: {
        'X-Charged-Microdollars': '0',
        'Cache-Control': route.shared ? SHARED : 'no-store',
        ...locationOf(route, reply),
        ...reply.headers,
      },
      body: reply.body,
    })
    for (const [name, value] of Object.entries(deprecationHeaders(route.deprecated))) {
      ctx.append(name, value)
    }
  }

/** Where what was made is found (RFC 9110 §10.2.2). */
function locationOf({ answer }: AnyRoute, { status, body }: RestReply): Record<string, string> {
  if (status !== 201 || answer.location === undefined) return {}
  const memberOf = (path: string): unknown =>
    path.split('.').reduce((at, name) => (at as Record<string, unknown>)[name], body)
  const named = (_: string, path: string) => encodeURIComponent(String(memberOf(path)))
  return { Location: answer.location.replaceAll(/\{([\w.]+)\}/g, named) }
}
