import type { Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'
import type { Caller, KeyRing } from '../../core/identity/keys.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import type { Standing } from '../../core/usage/standing.ts'
import { readJson } from '../body.ts'
import { header, requestIdOf, send } from '../exchange.ts'
import { traceOf } from '../trace.ts'
import { type AnyRoute, parse } from './route.ts'

export interface RestPorts {
  readonly keys: KeyRing
  /** Wallets of administrators, in lower case. */
  readonly admins: readonly string[]
  readonly limits: RateLimits
  readonly standing: Standing
  /** What callers see as our address. */
  readonly baseUrl: () => string
}

/** Checks what the route declares, and counts the caller, before its handler runs. */
export const serveRest =
  (route: AnyRoute, { keys, admins, limits, standing, baseUrl }: RestPorts): Middleware =>
  async (ctx) => {
    const trace = traceOf(ctx)
    trace.route = route.path
    const params = (ctx['params'] as Record<string, string> | undefined) ?? {}
    if (Object.values(params).some((value) => /\p{Cc}/u.test(value))) {
      throw new Fault('malformed_path')
    }
    if (!URL.canParse(ctx.url, baseUrl())) throw new Fault('malformed_path')
    const url = new URL(`${ctx.path}${ctx.search}`, baseUrl()) // ours, whatever host was named
    const authorization = header(ctx, 'authorization')
    const caller = await trace.step('authenticate', () =>
      route.auth === 'none' ? undefined : keys.authenticate(authorization ?? ''),
    )
    trace.keyId = caller?.keyId
    const rate = await trace.step('limit', async () =>
      caller
        ? limits.key(caller, await standing.tier(caller.credits))
        : route.unlimited
          ? undefined
          : limits.address(ctx.ip),
    )
    if (route.auth === 'admin' && !isAdmin(caller, admins)) throw new Fault('admin_only')
    const body = route.body ? parse(route.body, (await readJson(ctx.req)) ?? {}) : undefined
    const query = route.query && parse(route.query, { ...ctx.query })
    const request = {
      requestId: requestIdOf(ctx),
      url: url.href,
      ip: ctx.ip,
      params,
      body,
      query,
      caller,
      header: (name: string) => header(ctx, name),
    }
    const reply = await trace.step('handle', () => route.handle(request))
    send(ctx, {
      status: reply.status ?? 200,
      headers: { 'X-Charged-Microdollars': '0', ...rate?.headers, ...reply.headers },
      body: reply.body,
    })
  }

/** A key that another key made is for its holder's calls, and for nothing of the house. */
const isAdmin = (caller: Caller | undefined, admins: readonly string[]): boolean =>
  caller?.limits.length === 0 && admins.includes(caller.wallet ?? '')
