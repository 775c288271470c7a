import type { IncomingMessage, ServerResponse } from 'node:http'
import { Router } from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import helmet from 'koa-helmet'
import { Fault } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { optionsOf } from './http/cross-origin.ts'
import type { EarlyDoor } from './http/early-entry.ts'
import { identify, namesOf, pathOf, send } from './http/exchange.ts'
import { assertWellFormed } from './http/malformed.ts'
import { notAllowed, problem, reported } from './http/problem.ts'
import { represent } from './http/represent.ts'
import { refuseOAuth } from './mcp/oauth.ts'
import { type Observers, observe } from './observability/observe.ts'
import { type ProxyPorts, proxyDoor } from './proxy/entry.ts'
import type { AnyRoute } from './rest/route.ts'
import { type RestPorts, serveRest } from './rest/serve.ts'

export interface Doors extends RestPorts, ProxyPorts, Observers {
  readonly routes: readonly AnyRoute[]
  readonly mcp: EarlyDoor
  /** The pages for people. */
  readonly web: Middleware
  /** Of the addresses in X-Forwarded-For, so many are believed: the last ones. */
  readonly proxies: number
  readonly log: Log
}

/** Answers a request. */
export type Answering = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * The HTTP application: REST, the proxy, MCP, and one form of errors everywhere. The proxy and MCP
 * come before Koa: programs alone read them, and nothing is asked as often.
 */
export function createApp(doors: Doors): Answering {
  const app = new Koa({ proxy: doors.proxies > 0, maxIpsCount: doors.proxies })
  const router = new Router({ strict: true, sensitive: true })
  for (const route of doors.routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.register(path, [route.method.toLowerCase()], serveRest(route, doors))
  }
  const shared = new Set(doors.routes.filter((route) => route.shared).map(({ path }) => path))
  app.use(observe(doors))
  app.use(represent)
  app.use(errors(doors))
  app.use(helmet()) // for what browsers read
  app.use(doors.web)
  app.use(refuseOAuth)
  app.use(router.routes())
  app.use((ctx) => {
    const found = router.match(ctx.path, ctx.method).path
    const allowed = found.flatMap(({ methods }) => methods)
    if (allowed.length === 0) throw new Fault('not_found', `Nothing is at ${ctx.path}.`)
    const isOpen = found.some(({ path }) => shared.has(String(path).replaceAll(/:(\w+)/g, '{$1}')))
    if (ctx.method !== 'OPTIONS') throw notAllowed(ctx.path, allowed)
    ctx.status = 204
    ctx.set(optionsOf(allowed, isOpen))
  })
  app.on('error', (error, ctx?: Context) => {
    if (ctx?.req.socket.destroyed) return // its caller has left, as callers do
    doors.log.error({ err: error }, 'unexpected error of the server')
  })
  const answer = app.callback()
  const proxy = proxyDoor(doors)
  return (request, response) => {
    const koa = () => app.createContext(request, response)
    return (
      proxy(request, response, koa) ??
      doors.mcp(request, response, koa) ??
      answer(request, response)
    )
  }
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
      const fault = reported(error, log, { requestId, method: ctx.method, path })
      send(ctx, problem(fault, requestId, path ?? ctx.url))
    }
  }
