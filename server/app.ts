import { Router } from '@koa/router'
import Koa, { type Middleware } from 'koa'
import helmet from 'koa-helmet'
import { Fault } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { identify, namesOf, pathOf, send } from './exchange.ts'
import { assertWellFormed } from './http/broken.ts'
import { tellMethods } from './http/cross-origin.ts'
import { represent } from './http/represent.ts'
import { refuseOAuth } from './mcp/oauth.ts'
import { type Observers, observe } from './observe.ts'
import { faultOf, isOurFailure, notAllowed, problem } from './problem.ts'
import { type ProxyPorts, proxyDoor } from './proxy/door.ts'
import type { AnyRoute } from './rest/route.ts'
import { type RestPorts, serveRest } from './rest/serve.ts'

export interface Doors extends RestPorts, ProxyPorts, Observers {
  readonly routes: readonly AnyRoute[]
  /** The endpoint of MCP. */
  readonly mcp: Middleware
  /** The pages for people. */
  readonly web: Middleware
  /** Of the addresses in X-Forwarded-For, so many are believed: the last ones. */
  readonly proxies: number
  readonly log: Log
}

/** The HTTP application: REST, the proxy, MCP, and one form of errors everywhere. */
export function createApp(doors: Doors): Koa {
  const app = new Koa({ proxy: doors.proxies > 0, maxIpsCount: doors.proxies })
  const router = new Router({ strict: true, sensitive: true })
  for (const route of doors.routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.register(path, [route.method.toLowerCase()], serveRest(route, doors))
  }
  const shared = new Set(doors.routes.filter((route) => route.shared).map(({ path }) => path))
  app.use(doors.mcp) // read by programs alone, it has its own form of errors, and few headers
  app.use(observe(doors))
  app.use(represent)
  app.use(errors(doors))
  app.use(proxyDoor(doors)) // neither is this: it has the few that contain what others wrote
  app.use(helmet())
  app.use(doors.web)
  app.use(refuseOAuth)
  app.use(router.routes())
  app.use((ctx) => {
    const found = router.match(ctx.path, ctx.method).path
    const allowed = found.flatMap(({ methods }) => methods)
    if (allowed.length === 0) throw new Fault('not_found', `Nothing is at ${ctx.path}.`)
    const isOpen = found.some(({ path }) => shared.has(String(path).replaceAll(/:(\w+)/g, '{$1}')))
    if (ctx.method === 'OPTIONS') return tellMethods(ctx, allowed, isOpen)
    throw notAllowed(ctx.path, allowed)
  })
  app.on('error', (error) => doors.log.error({ err: error }, 'unexpected error of the server'))
  return app
}

/** Gives every request an id and every failure its problem body. */
const errors =
  ({ log }: Doors): Middleware =>
  async (ctx, next) => {
    const requestId = identify(ctx)
    ctx.set(namesOf(ctx))
    const path = pathOf(ctx)
    try {
      assertWellFormed(ctx.req)
      if (path === undefined) throw new Fault('malformed_path')
      await next()
    } catch (error) {
      const fault = faultOf(error)
      const { method } = ctx
      if (isOurFailure(fault)) {
        log.error({ err: fault.cause ?? fault, requestId, method, path }, fault.code)
      }
      send(ctx, problem(fault, requestId, path ?? ctx.url))
    }
  }
