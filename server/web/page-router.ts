import { Router } from '@koa/router'
import type { Context, Middleware } from 'koa'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { Session } from '../../core/identity/sessions.ts'
import type { Log } from '../../core/log.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import { requestIdOf } from '../http/exchange.ts'
import { markPublic } from '../http/finalize-response.ts'
import { readForm } from '../http/form-body.ts'
import { decodePath } from '../http/malformed.ts'
import { faultHeaders, methodNotAllowed, reportFault, toFault } from '../http/problem.ts'
import { readQuery } from '../http/query.ts'
import { traceOf } from '../observability/trace.ts'
import { assertSameOrigin, type SessionDeps, sessionFromCookie } from '../rest/authentication.ts'
import type { InProcessApi, InProcessCaller } from '../rest/in-process.ts'
import { dataAsOf } from '../rest/recent.ts'
import { assertNames, parse } from '../rest/route.ts'
import { DataAge } from './data-age.ts'
import { type Html, html } from './html.ts'
import { CSP, layout, type PageContent, type Site } from './layout.ts'
import { errorPage, fieldErrors, formError, secretBox, successMessage } from './messages.ts'
import type { AnyPage, PageRequest, Submission } from './page.ts'
import { withRoleNote } from './role-note.ts'
import { setSecretCookie, takeSecretCookie } from './secret-cookie.ts'
import { sendAsset, sendFile, sendSiteFile } from './send-files.ts'
import { type SiteFileDeps, siteFiles } from './site-files.ts'
import { dropKeptForm, keepForm, readKeptForm } from './submission-cookie.ts'
import { readVisitor, type Visitor, type VisitorDeps } from './visitor.ts'

export interface PageRouterDeps extends SessionDeps, SiteFileDeps, VisitorDeps {
  readonly site: Site
  readonly limits: Pick<RateLimits, 'address' | 'registration'>
  readonly log: Log
  /** REST routes, called in process with the rights of a visitor. */
  readonly apiFor: (caller: InProcessCaller) => InProcessApi
}

export const SIGN_IN = '/sign-in'
export const SIGN_IN_AGAIN = '/sign-in/again'
/** Pages whose forms are kept while the visitor signs in again; they contain no secrets. */
const STAFF_PAGE = /^\/(?:finance|admin)(?:\/|$)/
/** Public pages are fresh for 15 s, then revalidated in the background for up to 60 s more. */
const BRIEFLY_CACHED = 'public, max-age=15, stale-while-revalidate=60'
const SEE_OTHER = 303
const OTHER_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE']

/** Serves the pages and their assets. Errors are rendered as a page if the client is a browser. */
export function pageRouter(pages: readonly AnyPage[], deps: PageRouterDeps): Middleware {
  const router = new Router({ strict: true, sensitive: true })
  router.get('/assets/:file', (ctx) => sendAsset(ctx))
  for (const [path, file] of siteFiles(deps)) router.get(path, (ctx) => sendSiteFile(ctx, file))
  for (const each of pages) {
    const path = each.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.get(path, (ctx) => showPage(ctx, each, deps))
    if (each.actions) router.post(path, (ctx) => handleForm(ctx, each, deps))
    router.register(path, OTHER_METHODS, (ctx: Context) => {
      throw methodNotAllowed(ctx.path, each.actions ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD'])
    })
  }
  const routes = router.routes() as unknown as Middleware
  const serve: Middleware = async (ctx, next) => {
    decodePath(ctx.path) // refused here, because the router would match what it cannot decode
    await routes(ctx, next)
  }
  return async (ctx, next) => {
    if (!expectsPage(ctx)) return serve(ctx, next)
    const place = ctx.method === 'GET' ? withoutTrailingSlash(ctx.path) : undefined
    if (place !== undefined) return ctx.redirect(`${place}${ctx.search}`)
    try {
      await serve(ctx, next)
    } catch (error) {
      const { method, path, querystring } = ctx
      const requestId = requestIdOf(ctx)
      const fault = reportFault(error, deps.log, { requestId, method, path })
      const hasFilters = method === 'GET' && querystring !== ''
      sendPage(ctx, errorPage(fault, { requestId, path, hasFilters }), deps.site)
      ctx.set({ ...faultHeaders(fault), 'Cache-Control': 'no-store' })
    }
  }
}

/** Returns a path of this site without slashes at its end; undefined if it has none there. */
function withoutTrailingSlash(path: string): string | undefined {
  // Browsers would go to another site from a path that begins with two slashes or backslashes.
  if (!path.endsWith('/') || !/^\/\w/.test(path) || path.includes('\\')) return undefined
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** Browsers name `text/html` in `Accept`; programs do not, or accept anything. */
const expectsPage = (ctx: Context): boolean =>
  !/^\/(?:v1|proxy|mcp)(?:\/|$)/.test(ctx.path) && ctx.get('accept').includes('text/html')

async function showPage(ctx: Context, page: AnyPage, deps: PageRouterDeps): Promise<void> {
  const personal = isPersonal(page)
  const request = await openRequest(ctx, page, deps)
  if (!page.access && !request.session) return ctx.redirect(SIGN_IN)
  const submission = personal ? resumeForm(ctx, page, deps) : undefined
  const secret = personal ? takeSecretCookie(ctx, deps.baseUrl()) : undefined
  if (!personal) markPublic(ctx)
  const query = page.query && parse(page.query, readQuery(ctx))
  const [content, visitor] = await Promise.all([
    page.render({ ...request, query, secret, submission }),
    readVisitor(request.session, deps),
  ])
  if ('to' in content) redirectTo(ctx, content.to)
  else if ('file' in content) sendFile(ctx, content)
  else {
    const messages = { done: readQuery(ctx)['done'], secret, resumed: submission !== undefined }
    const canonical = page.access === 'public' ? ctx.path : undefined
    const noted = withRoleNote(content, page, visitor)
    const shown = { canonical, ...withMessages(noted, page, messages) }
    sendPage(ctx, { ...shown, dataAsOf: request.dataAge.asOf }, deps.site, visitor)
  }
  ctx.set('Cache-Control', personal ? 'no-store' : BRIEFLY_CACHED)
}

const FormBody = z.record(z.string(), z.string())

/** Runs a form action. If it fails, renders the page again with the errors and the sent values. */
async function handleForm(ctx: Context, page: AnyPage, deps: PageRouterDeps): Promise<void> {
  assertSameOrigin(ctx, deps.baseUrl())
  const opened = await openRequest(ctx, page, deps)
  const request = { ...opened, query: page.query && parse(page.query, readQuery(ctx)) }
  ctx.set('Cache-Control', 'no-store')
  ctx.status = SEE_OTHER
  const { act = '', ...values } = parse(FormBody, (await readForm(ctx.req)) ?? {})
  const signInFirst = (path: string) => {
    if (STAFF_PAGE.test(page.path)) keepForm(ctx, deps.baseUrl(), { to: ctx.url, act, values })
    redirectTo(ctx, path)
  }
  if (!page.access && !request.session) return signInFirst(SIGN_IN)
  const action = Object.hasOwn(page.actions ?? {}, act) ? page.actions?.[act] : undefined
  if (!action) throw new Fault('validation_failed', 'This page has no such form.')
  try {
    const result = await action.run(request, action.fields && parse(action.fields, values))
    if ('message' in result) {
      const submission = { act, values, errors: {}, message: '' }
      const repeat = { above: () => result.message, status: 200, submission }
      return await showFormAgain(ctx, page, request, repeat, deps)
    }
    const { to, secret, headers = {} } = result
    ctx.redirect(to)
    for (const [header, value] of Object.entries(headers)) ctx.append(header, value)
    if (secret !== undefined) setSecretCookie(ctx, deps.baseUrl(), to, secret)
  } catch (error) {
    const fault = toFault(error)
    if (fault.status >= 500) throw error
    if (fault.code === 'fresh_authentication_required') return signInFirst(SIGN_IN_AGAIN)
    const submission = { act, values, errors: fieldErrors(fault), message: fault.message }
    const above = (main: Html) => formError(fault, submission, main)
    await showFormAgain(ctx, page, request, { above, status: fault.status, submission }, deps)
    ctx.set({ ...faultHeaders(fault) })
  }
}

interface FormRepeat {
  /** Builds the message above the page from its content. */
  readonly above: (main: Html) => Html
  readonly status: number
  readonly submission: Submission
}

/** Renders the page with a form as it was submitted and a message above it. */
async function showFormAgain(
  ctx: Context,
  page: AnyPage,
  request: PageRequest,
  { above, status, submission }: FormRepeat,
  deps: PageRouterDeps,
): Promise<void> {
  const [content, visitor] = await Promise.all([
    page.render({ ...request, submission }),
    readVisitor(request.session, deps),
  ])
  if ('to' in content) return redirectTo(ctx, content.to)
  if ('file' in content) throw new TypeError(`${page.path} has forms, but renders a file`)
  const noted = withRoleNote(content, page, visitor)
  const main = html`${above(content.main)}${noted.main}`
  const shown = { ...content, main, status, dataAsOf: request.dataAge.asOf }
  sendPage(ctx, shown, deps.site, visitor)
}

const isPersonal = ({ access, actions }: AnyPage): boolean =>
  access !== 'public' || actions !== undefined

/** Counts the request against the rate limit and reads the session if the page is personal. */
async function openRequest(
  ctx: Context,
  page: AnyPage,
  deps: PageRouterDeps,
): Promise<PageRequest> {
  const { limits, apiFor } = deps
  const trace = traceOf(ctx)
  trace.route = page.path
  ctx.set({ ...(await limits.address(ctx.ip)).headers })
  const params = (ctx['params'] as Record<string, string> | undefined) ?? {}
  assertNames(params)
  const session = isPersonal(page) ? await findSession(ctx, deps) : undefined
  const requestId = requestIdOf(ctx)
  const dataAge = new DataAge()
  return {
    path: ctx.path,
    params,
    query: undefined,
    session,
    dataAge,
    api: apiFor({
      session,
      ip: ctx.ip,
      requestId,
      cookies: ctx.get('cookie') || undefined,
      onReply: (reply) => dataAge.note(dataAsOf(reply)),
    }),
    submission: undefined,
    returnTo: isPersonal(page) ? readKeptForm(ctx, deps.baseUrl())?.to : undefined,
    secret: undefined,
    ip: ctx.ip,
    requestId,
    agent: ctx.get('user-agent'),
  }
}

/** Finds the session, if any. A network with too many failures has none: it may sign in again. */
async function findSession(ctx: Context, deps: PageRouterDeps): Promise<Session | undefined> {
  try {
    return await sessionFromCookie(ctx, deps)
  } catch (error) {
    if (error instanceof Fault && error.code === 'authentication_limited') return undefined
    throw error
  }
}

/** Returns the form that the visitor had submitted here before signing in again, once. */
function resumeForm(
  ctx: Context,
  { actions = {} }: AnyPage,
  { baseUrl }: PageRouterDeps,
): Submission | undefined {
  const kept = readKeptForm(ctx, baseUrl())
  if (kept?.to !== ctx.url) return undefined
  dropKeptForm(ctx, baseUrl())
  const { act, values } = kept
  return Object.hasOwn(actions, act) ? { act, values, errors: {}, message: '' } : undefined
}

/** Puts the success message and the one-time secret above the page. */
function withMessages(
  content: PageContent,
  { notices = {} }: AnyPage,
  { done, secret, resumed }: Messages,
): PageContent {
  const notice =
    typeof done === 'string' && Object.hasOwn(notices, done) ? notices[done] : undefined
  const text = resumed ? RESUMED : notice
  if (text === undefined && secret === undefined) return content
  return {
    ...content,
    main: html`${text !== undefined && successMessage(text)}${
      secret !== undefined && secretBox(secret)
    }${content.main}`,
  }
}

interface Messages {
  readonly done: unknown
  readonly secret: string | undefined
  /** True if a form is shown again after signing in. */
  readonly resumed: boolean
}

const RESUMED = html`<strong>What you typed was kept.</strong> Nothing was sent yet: check the form
below and submit it.`

function redirectTo(ctx: Context, path: string): void {
  ctx.redirect(path)
  ctx.status = SEE_OTHER
}

function sendPage(ctx: Context, content: PageContent, site: Site, visitor?: Visitor): void {
  ctx.status = content.status ?? 200
  ctx.body = Buffer.from(layout(content, site, visitor).text)
  ctx.type = 'text/html; charset=utf-8'
  ctx.set('Content-Security-Policy', CSP)
  // With `no-referrer`, browsers send `Origin: null` with forms: the same-origin check rejects it.
  ctx.set('Referrer-Policy', 'same-origin')
}
