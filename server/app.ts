import type { IncomingMessage, ServerResponse } from 'node:http'
import { Router } from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import helmet from 'koa-helmet'
import { Fault } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { logFailure } from '../core/outages.ts'
import { optionsHeaders } from './http/cors.ts'
import { assignRequestId, correlationHeaders, pathOf, send } from './http/exchange.ts'
import { finalizeResponse } from './http/finalize-response.ts'
import { assertWellFormed } from './http/malformed.ts'
import { hasPaymentHeader } from './http/payment-headers.ts'
import type { PreKoaHandler } from './http/pre-koa.ts'
import { methodNotAllowed, problem, reportFault, withOutcome } from './http/problem.ts'
import { refuseOAuth } from './mcp/oauth.ts'
import { type Observers, observe } from './observability/observe.ts'
import { type ProxyDeps, proxyEntry } from './proxy/entry.ts'
import type { AnyRoute } from './rest/route.ts'
import { type RestDeps, serveRest } from './rest/serve.ts'

export interface AppDeps extends RestDeps, ProxyDeps, Observers {
  readonly routes: readonly AnyRoute[]
  readonly mcp: PreKoaHandler
  readonly web: Middleware
  readonly log: Log
  /** Command that starts the command line. */
  readonly cliCommand: () => string
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Creates the HTTP application. Proxy and MCP run before Koa: they have the most traffic. */
export function createApp(deps: AppDeps): RequestHandler {
  const app = new Koa({ proxy: deps.proxies > 0, maxIpsCount: deps.proxies })
  const router = new Router({ strict: true, sensitive: true })
  for (const route of deps.routes) {
    const named = route.path.replaceAll(/\{(\w+)\}/g, ':$1')
    const path = route.hasDeepPath ? named.replace(/:(\w+)$/, '*$1') : named
    router.register(path, [route.method.toLowerCase()], serveRest(route, deps))
  }
  const shared = new Set(deps.routes.filter((route) => route.shared).map(({ path }) => path))
  app.use(observe(deps))
  app.use(finalizeResponse)
  app.use(handleErrors(deps))
  app.use(helmet()) // security headers for browsers
  app.use(deps.web)
  app.use(refuseOAuth(deps.cliCommand))
  app.use(router.routes())
  app.use((ctx) => {
    const found = router.match(ctx.path, ctx.method).path
    const allowed = found.flatMap(({ methods }) => methods)
    if (allowed.length === 0) throw new Fault('not_found', `Nothing is at ${ctx.path}.`)
    const isOpen = found.some(({ path }) =>
      shared.has(String(path).replaceAll(/[:*](\w+)/g, '{$1}')),
    )
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed(ctx.path, allowed)
    ctx.status = 204
    ctx.set(optionsHeaders(allowed, isOpen))
  })
  app.on('error', (error, ctx?: Context) => {
    if (ctx?.req.socket.destroyed) return // the client disconnected
    logFailure(deps.log, 'error', { err: error }, 'unexpected error of the server')
  })
  const answer = app.callback()
  const proxy = proxyEntry(deps)
  return (request, response) => {
    const koa = () => app.createContext(request, response)
    return (
      proxy(request, response, koa) ?? deps.mcp(request, response, koa) ?? answer(request, response)
    )
  }
}

/** Assigns an id to every request and turns every failure into a problem response. */
const handleErrors =
  ({ log }: AppDeps): Middleware =>
  async (ctx, next) => {
    const requestId = assignRequestId(ctx)
    ctx.set(correlationHeaders(ctx))
    const path = pathOf(ctx)
    try {
      assertWellFormed(ctx.req)
      if (path === undefined) throw new Fault('malformed_path')
      await next()
    } catch (error) {
      const reported = reportFault(error, log, { requestId, method: ctx.method, path })
      const isPaid = hasPaymentHeader((name) => ctx.get(name) || undefined)
      const fault = withOutcome(reported, isPaid ? 'pending' : 'none')
      send(ctx, problem(fault, requestId, path ?? ctx.url))
    }
  }
