import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { Router } from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import helmet from 'koa-helmet'
import { Fault, type FaultCode } from '../core/errors.ts'
import type { Caller, KeyRing } from '../core/identity/keys.ts'
import { base62 } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import type { RateLimits } from '../core/usage/rate-limit.ts'
import type { Standing } from '../core/usage/standing.ts'
import { readJson } from './body.ts'
import { faultOf, problem } from './problem.ts'
import type { CallRequest, Reply } from './proxy/call.ts'
import { idempotencyKeyOf } from './proxy/idempotent.ts'
import { maxPriceOf } from './proxy/quote.ts'
import { type AnyRoute, parse } from './rest/route.ts'

export interface Doors {
  readonly routes: readonly AnyRoute[]
  readonly openapi: () => Readonly<Record<string, unknown>>
  readonly call: (request: CallRequest) => Promise<Reply>
  readonly keys: KeyRing
  /** Wallets of administrators, in lower case. */
  readonly admins: readonly string[]
  readonly limits: RateLimits
  readonly standing: Standing
  /** What callers see as our address. */
  readonly baseUrl: () => string
  /** Of the addresses in X-Forwarded-For, so many are believed: the last ones. */
  readonly proxies: number
  readonly log: Log
}

export const PROXY_PATH = '/proxy'

/** The HTTP application: REST at /v1, the proxy at /proxy, one form of errors everywhere. */
export function createApp(doors: Doors): Koa {
  const app = new Koa({ proxy: doors.proxies > 0, maxIpsCount: doors.proxies })
  const router = new Router({ strict: true, sensitive: true })
  router.get('/openapi.json', (ctx) => {
    ctx.set('Cache-Control', 'public, max-age=30')
    ctx.body = doors.openapi()
  })
  for (const route of doors.routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.register(path, [route.method.toLowerCase()], serveRest(route, doors))
  }
  app.use(errors(doors))
  app.use(helmet())
  app.use(proxy(doors))
  app.use(router.routes())
  app.use((ctx) => {
    const allowed = router.match(ctx.path, ctx.method).path.flatMap(({ methods }) => methods)
    if (allowed.length === 0) throw new Fault('not_found', `Nothing is at ${ctx.path}.`)
    throw new Fault('method_not_allowed', undefined, { headers: { Allow: allowed.join(', ') } })
  })
  app.on('error', (error) => doors.log.error({ err: error }, 'unexpected error of the server'))
  return app
}

/** Gives every request an id and every failure its problem body. */
const errors =
  ({ log }: Doors): Middleware =>
  async (ctx, next) => {
    const given = ctx.get('x-request-id')
    const requestId = /^[\w.-]{8,64}$/.test(given) ? given : newRequestId()
    ctx.state['requestId'] = requestId
    ctx.set('X-Request-Id', requestId)
    const path = pathOf(ctx)
    try {
      if (path === undefined) throw new Fault('malformed_path')
      await next()
    } catch (error) {
      const fault = faultOf(error)
      const { method } = ctx
      if (LOGGED.has(fault.code)) {
        log.error({ err: fault.cause ?? fault, requestId, method, path }, fault.code)
      }
      send(ctx, problem(fault, requestId, path ?? ctx.url))
    }
  }

/** The path as it was sent. An absolute target may have none, or be no URL: then Koa throws. */
function pathOf(ctx: Context): string | undefined {
  try {
    const path: string | null = ctx.path
    return path ?? undefined
  } catch {
    return undefined
  }
}

/** Faults of the hub itself; those of callers and providers are no errors of the operator's. */
const LOGGED: ReadonlySet<FaultCode> = new Set([
  'internal_error',
  'service_unavailable',
  'payment_pending',
])

const newRequestId = (): string =>
  `req_${base62(BigInt(`0x${randomBytes(12).toString('hex')}`), 17)}`

const requestIdOf = (ctx: Context): string => ctx.state['requestId'] as string

function send(ctx: Context, { status, headers, body }: Reply): void {
  ctx.status = status
  if (body instanceof Readable) ctx.body = breakingOff(body, ctx)
  else ctx.body = body instanceof Uint8Array ? Buffer.from(body) : jsonOf(body)
  ctx.type = 'application/json'
  ctx.set({ ...headers })
}

/** A stream that fails breaks the answer off: an end in order would say that it was whole. */
const breakingOff = (stream: Readable, ctx: Context): Readable =>
  stream.on('error', () => ctx.res.destroy())

const jsonOf = (body: unknown): string => JSON.stringify(body ?? null)

const serveRest =
  (route: AnyRoute, { keys, admins, limits, standing, baseUrl }: Doors): Middleware =>
  async (ctx) => {
    const params = (ctx['params'] as Record<string, string> | undefined) ?? {}
    if (Object.values(params).some((value) => /\p{Cc}/u.test(value))) {
      throw new Fault('malformed_path')
    }
    if (!URL.canParse(ctx.url, baseUrl())) throw new Fault('malformed_path')
    const url = new URL(`${ctx.path}${ctx.search}`, baseUrl()) // ours, whatever host was named
    const authorization = header(ctx, 'authorization')
    const caller = route.auth === 'none' ? undefined : await keys.authenticate(authorization ?? '')
    const rate = caller
      ? await limits.key(caller.keyId, await standing.tier(caller.credits))
      : route.unlimited
        ? undefined
        : await limits.address(ctx.ip)
    if (route.auth === 'admin' && !isAdmin(caller, admins)) throw new Fault('admin_only')
    const body = route.body ? parse(route.body, (await readJson(ctx.req)) ?? {}) : undefined
    const query = route.query && parse(route.query, { ...ctx.query })
    const reply = await route.handle({
      requestId: requestIdOf(ctx),
      url: url.href,
      ip: ctx.ip,
      params,
      body,
      query,
      caller,
      header: (name) => header(ctx, name),
    })
    send(ctx, {
      status: reply.status ?? 200,
      headers: { 'X-Charged-Microdollars': '0', ...rate?.headers, ...reply.headers },
      body: reply.body,
    })
  }

/** A key that another key made is for its holder's calls, and for nothing of the house. */
const isAdmin = (caller: Caller | undefined, admins: readonly string[]): boolean =>
  caller?.limits.length === 0 && admins.includes(caller.wallet ?? '')

const proxy =
  ({ call, baseUrl }: Doors): Middleware =>
  async (ctx, next) => {
    if (!ctx.path.startsWith(`${PROXY_PATH}/`)) return next()
    const { slug, path } = target(ctx.req.url ?? '/')
    const hasBody = ctx.method !== 'GET' && ctx.method !== 'HEAD' && ctx.method !== 'DELETE'
    const reply = await call({
      requestId: requestIdOf(ctx),
      slug,
      method: ctx.method,
      path,
      url: new URL(ctx.path, baseUrl()).href,
      query: { ...ctx.query },
      ...(hasBody ? await readable(ctx) : { body: undefined }),
      authorization: header(ctx, 'authorization'),
      payment: header(ctx, 'payment-signature'),
      idempotencyKey: idempotencyKeyOf(header(ctx, 'idempotency-key')),
      maxPrice: maxPriceOf(header(ctx, 'x-max-price')),
      ip: ctx.ip,
    })
    send(ctx, reply)
  }

/** The body, or why it cannot be read: whether that matters depends on who is to pay. */
async function readable(ctx: Context): Promise<Pick<CallRequest, 'body' | 'unreadable'>> {
  try {
    return { body: await readJson(ctx.req) }
  } catch (error) {
    if (error instanceof Fault) return { body: undefined, unreadable: error }
    throw error
  }
}

/** Dot segments, empty ones, separators and control characters; and any of them encoded twice. */
const AMBIGUOUS = /[\\\p{Cc}]|\/\.{1,2}(\/|$)|\/\/|%(2e|2f|5c)/iu

/** Splits `/proxy/{slug}/{path}`, and refuses what some server behind us could read otherwise. */
function target(url: string): { readonly slug: string; readonly path: string } {
  const [raw = ''] = url.split('?')
  let decoded: string
  try {
    decoded = decodeURIComponent(raw)
  } catch (error) {
    throw new Fault('malformed_path', undefined, { cause: error })
  }
  if (/%2f/i.test(raw) || AMBIGUOUS.test(decoded)) throw new Fault('malformed_path')
  const [slug = '', ...rest] = decoded.slice(PROXY_PATH.length + 1).split('/')
  return { slug, path: `/${rest.join('/')}` }
}

/** A header that may come once only: two of them would mean two things to two readers. */
function header(ctx: Context, name: string): string | undefined {
  const values = ctx.req.headersDistinct[name]
  if (values === undefined) return undefined
  if (values.length > 1) throw new Fault('duplicate_header', `${name} came ${values.length} times.`)
  return values[0]
}
