import { Router } from '@koa/router'
import type { Context, Middleware } from 'koa'
import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import { readForm } from '../http/body.ts'
import { requestIdOf } from '../http/exchange.ts'
import { faultOf, headersOf, reported } from '../http/problem.ts'
import { share } from '../http/represent.ts'
import { traceOf } from '../observability/trace.ts'
import type { Asker, Inside } from '../rest/inside.ts'
import { assertNames, parse } from '../rest/route.ts'
import { assertOwnSite, sessionOn } from '../rest/visitor.ts'
import { COPY_SCRIPT, findAsset } from './assets.ts'
import { type Html, html } from './html.ts'
import { CSP, layout, type PageText, type Site } from './layout.ts'
import { faultPage, notice, refusal, secretBox } from './notices.ts'
import { handOver, takeOver } from './once.ts'
import type { AnyPage, FileText, PageRequest, Sent } from './page.ts'

export interface WebPorts {
  readonly pool: Pool
  readonly site: Site
  readonly limits: Pick<RateLimits, 'address'>
  readonly baseUrl: () => string
  readonly log: Log
  /** The routes of REST, as pages ask them. */
  readonly inside: (asker: Asker) => Inside
}

/** Where people sign in. */
export const SIGN_IN = '/sign-in'
/** Seconds that a page may be shown without asking whether it changed. */
const KEPT = 'public, max-age=15, stale-while-revalidate=60'
const FOR_EVER = 'public, max-age=31536000, immutable'
const SEE_OTHER = 303

/** The pages of the hub. What goes wrong for somebody with a browser is told as a page as well. */
export function webDoor(pages: readonly AnyPage[], ports: WebPorts): Middleware {
  const router = new Router({ strict: true, sensitive: true })
  router.get('/assets/:file', (ctx) => sendAsset(ctx))
  for (const each of pages) {
    const path = each.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.get(path, (ctx) => showPage(ctx, each, ports))
    if (each.acts) router.post(path, (ctx) => takeForm(ctx, each, ports))
  }
  const serve = router.routes() as unknown as Middleware
  return async (ctx, next) => {
    if (!wantsPage(ctx)) return serve(ctx, next)
    try {
      await serve(ctx, next)
    } catch (error) {
      const { method, path } = ctx
      const requestId = requestIdOf(ctx)
      const fault = reported(error, ports.log, { requestId, method, path })
      sendPage(ctx, faultPage(fault, requestId), ports.site)
      ctx.set({ ...headersOf(fault), 'Cache-Control': 'no-store' })
    }
  }
}

/** Programs say that they take anything; browsers say that they like pages. */
const wantsPage = (ctx: Context): boolean =>
  !/^\/(?:v1|proxy|mcp)(?:\/|$)/.test(ctx.path) && ctx.get('accept').includes('text/html')

async function showPage(ctx: Context, page: AnyPage, ports: WebPorts): Promise<void> {
  const own = isOwn(page)
  const request = await admit(ctx, page, ports)
  if (page.person && !request.session) return ctx.redirect(SIGN_IN)
  const secret = own ? takeOver(ctx, ports.baseUrl()) : undefined
  if (!own) share(ctx)
  const query = parse(page.query, { ...ctx.query })
  const shown = await page.show({ ...request, query, secret })
  if ('to' in shown) leadTo(ctx, shown.to)
  else if ('file' in shown) sendFile(ctx, shown)
  else sendPage(ctx, told(shown, page, { done: ctx.query['done'], secret }), ports.site)
  ctx.set('Cache-Control', own ? 'no-store' : KEPT)
}

const Fields = z.record(z.string(), z.string())

/**
 * A form of a page: what passes leads to another page, what does not is shown again with what was
 * wrong, and with all that was filled in.
 */
async function takeForm(ctx: Context, page: AnyPage, ports: WebPorts): Promise<void> {
  assertOwnSite(ctx, ports.baseUrl())
  const request = await admit(ctx, page, ports)
  ctx.set('Cache-Control', 'no-store')
  ctx.status = SEE_OTHER
  if (page.person && !request.session) return ctx.redirect(SIGN_IN)
  const { act: name = '', ...values } = parse(Fields, (await readForm(ctx.req)) ?? {})
  const form = Object.hasOwn(page.acts ?? {}, name) ? page.acts?.[name] : undefined
  if (!form) throw new Fault('validation_failed', 'This page has no such form.')
  try {
    const done = await form.run(request, parse(form.fields, values))
    if ('told' in done) {
      const sent = { act: name, values, errors: {}, message: '' }
      return await showAgain(ctx, page, request, { on: () => done.told, status: 200, sent }, ports)
    }
    const { to, secret, headers = {} } = done
    ctx.redirect(to)
    for (const [header, value] of Object.entries(headers)) ctx.append(header, value)
    if (secret !== undefined) handOver(ctx, ports.baseUrl(), to, secret)
  } catch (error) {
    const fault = faultOf(error)
    if (fault.status >= 500) throw error
    const sent = { act: name, values, errors: errorsOf(fault), message: fault.message }
    const on = (shown: Html) => refusal(fault, sent, shown)
    const again = { on, status: fault.status, sent }
    await showAgain(ctx, page, request, again, ports)
    ctx.set({ ...headersOf(fault) })
  }
}

interface Again {
  /** What stands on top of the page. */
  readonly on: (page: Html) => Html
  readonly status: number
  readonly sent: Sent
}

/** The page with the form as it was sent, and something on top of it. */
async function showAgain(
  ctx: Context,
  page: AnyPage,
  request: PageRequest,
  { on, status, sent }: Again,
  { site }: WebPorts,
): Promise<void> {
  const shown = await page.show({ ...request, query: parse(page.query, { ...ctx.query }), sent })
  if ('to' in shown) return leadTo(ctx, shown.to)
  if ('file' in shown) throw new TypeError(`${page.path} has forms, and is no page`)
  sendPage(ctx, { ...shown, main: html`${on(shown.main)}${shown.main}`, status }, site)
}

const isOwn = ({ own, person, acts }: AnyPage): boolean =>
  own === true || person === true || acts !== undefined

/** Counts the caller, and finds out who it is, where the page is not alike for everybody. */
async function admit(ctx: Context, page: AnyPage, ports: WebPorts): Promise<PageRequest> {
  const { pool, limits, baseUrl, inside } = ports
  const trace = traceOf(ctx)
  trace.route = page.path
  ctx.set({ ...(await limits.address(ctx.ip)).headers })
  const params = (ctx['params'] as Record<string, string> | undefined) ?? {}
  assertNames(params)
  const session = isOwn(page) ? await sessionOn(ctx, pool, baseUrl()) : undefined
  return {
    path: ctx.path,
    params,
    query: undefined,
    session,
    ask: inside({ session, ip: ctx.ip, requestId: requestIdOf(ctx) }),
    sent: undefined,
    secret: undefined,
    ip: ctx.ip,
    agent: ctx.get('user-agent'),
  }
}

/** What every page says by itself: what was done, and what is shown this once. */
function told(
  text: PageText,
  { done = {} }: AnyPage,
  { done: name, secret }: { readonly done: unknown; readonly secret: string | undefined },
): PageText {
  const said = typeof name === 'string' && Object.hasOwn(done, name) ? done[name] : undefined
  if (said === undefined && secret === undefined) return text
  const scripts = new Set(text.scripts ?? [])
  if (secret !== undefined) scripts.add(COPY_SCRIPT)
  return {
    ...text,
    scripts: [...scripts],
    main: html`${said !== undefined && notice(said)}${
      secret !== undefined && secretBox(secret)
    }${text.main}`,
  }
}

/**
 * What was wrong, by the field that it stands in: those of forms are called as in REST, where
 * amounts are microdollars. `/rules/2/price_microdollars` → `price`.
 */
function errorsOf({ extras }: Fault): Readonly<Record<string, string>> {
  const issues = (extras['issues'] ?? []) as readonly { path: string; message: string }[]
  return Object.fromEntries(
    issues.map(({ path, message }) => {
      const name = path.split('/').findLast((segment) => !/^\d*$/.test(segment)) ?? ''
      return [name.replace(/_microdollars$/, ''), message.replace(`${name}: `, '')]
    }),
  )
}

function leadTo(ctx: Context, path: string): void {
  ctx.redirect(path)
  ctx.status = SEE_OTHER
}

function sendPage(ctx: Context, text: PageText, site: Site): void {
  ctx.status = text.status ?? 200
  ctx.body = Buffer.from(layout(text, site).text)
  ctx.type = 'text/html; charset=utf-8'
  ctx.set('Content-Security-Policy', CSP)
  // Without a referrer browsers name no origin with a form, which then seems to be of another site.
  ctx.set('Referrer-Policy', 'same-origin')
}

function sendFile(ctx: Context, { file, type, text }: FileText): void {
  ctx.body = Buffer.from(text)
  ctx.type = type
  ctx.attachment(file)
}

function sendAsset(ctx: Context): void {
  const asset = findAsset(ctx.path)
  if (!asset) throw new Fault('not_found')
  ctx.body = asset.bytes
  ctx.set({ 'Content-Type': asset.type, 'Cache-Control': FOR_EVER })
}
