import { Router } from '@koa/router'
import type { Context, Middleware } from 'koa'
import type { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import { share } from '../http/represent.ts'
import { faultOf } from '../problem.ts'
import { parse } from '../rest/route.ts'
import { traceOf } from '../trace.ts'
import { findAsset } from './assets.ts'
import { html } from './html.ts'
import { CSP, layout, type PageText, type Site } from './layout.ts'

/** A request for a page, with everything that the page declares already checked. */
export interface PageRequest<Query> {
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
}

/** A page for people. */
export interface Page<Query = unknown> {
  /** `/services/{slug}` */
  readonly path: string
  readonly query: z.ZodType<Query>
  /** Not alike for everybody: nobody keeps it. */
  readonly own?: boolean
  /** @throws Fault, which is shown as a page too */
  readonly show: (request: PageRequest<Query>) => Promise<PageText>
}

export type AnyPage = Page<unknown>

/** Declares a page. The type of `query` follows from its schema. */
export const page = <Query>(spec: Page<Query>): AnyPage => spec as unknown as AnyPage

export interface WebPorts {
  readonly site: Site
  readonly limits: Pick<RateLimits, 'address'>
}

/** Seconds that a page may be shown without asking whether it changed. */
const KEPT = 'public, max-age=15, stale-while-revalidate=60'
const FOR_EVER = 'public, max-age=31536000, immutable'

/** The pages of the hub. What goes wrong for somebody with a browser is told as a page as well. */
export function webDoor(pages: readonly AnyPage[], { site, limits }: WebPorts): Middleware {
  const router = new Router({ strict: true, sensitive: true })
  router.get('/assets/:file', (ctx) => sendAsset(ctx))
  for (const each of pages) {
    router.get(each.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (ctx) => {
      traceOf(ctx).route = each.path
      ctx.set({ ...(await limits.address(ctx.ip)).headers })
      const query = parse(each.query, { ...ctx.query })
      if (!each.own) share(ctx)
      sendPage(ctx, await each.show({ params: ctx['params'], query }), site)
      ctx.set('Cache-Control', each.own ? 'no-store' : KEPT)
    })
  }
  const serve = router.routes() as unknown as Middleware
  return async (ctx, next) => {
    if (!wantsPage(ctx)) return serve(ctx, next)
    try {
      await serve(ctx, next)
    } catch (error) {
      const fault = faultOf(error)
      if (fault.status >= 500) throw error // is logged, and told with all its members
      sendPage(ctx, faultPage(fault), site)
      ctx.set({ ...fault.headers, 'Cache-Control': 'no-store' })
    }
  }
}

/** Programs say that they take anything; browsers say that they like pages. */
const wantsPage = (ctx: Context): boolean =>
  (ctx.method === 'GET' || ctx.method === 'HEAD') &&
  !/^\/(?:v1|proxy|mcp)(?:\/|$)/.test(ctx.path) &&
  ctx.get('accept').includes('text/html')

function sendPage(ctx: Context, text: PageText, site: Site): void {
  ctx.status = text.status ?? 200
  ctx.body = Buffer.from(layout(text, site).text)
  ctx.type = 'text/html; charset=utf-8'
  ctx.set('Content-Security-Policy', CSP)
}

function sendAsset(ctx: Context): void {
  const asset = findAsset(ctx.path)
  if (!asset) throw new Fault('not_found')
  ctx.body = asset.bytes
  ctx.set({ 'Content-Type': asset.type, 'Cache-Control': FOR_EVER })
}

const faultPage = (fault: Fault): PageText => ({
  status: fault.status,
  title: fault.status === 404 ? 'There is nothing here' : 'This did not work',
  main: html`<h1>${fault.status === 404 ? 'There is nothing here' : 'This did not work'}</h1>
<p class="lead">${fault.message}</p>
<p>Nothing was charged. The code of this problem is
<a href="/docs/problems/${fault.code}"><code>${fault.code}</code></a>.</p>
<p><a class="button" href="/search">Search for an API</a></p>`,
})
