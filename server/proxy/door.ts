import type { Context, Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'
import { readJson } from '../body.ts'
import { authorizationOf, header, requestIdOf, send } from '../exchange.ts'
import { openToAll, tellMethods } from '../http/cross-origin.ts'
import { traceOf } from '../trace.ts'
import type { CallRequest, Reply } from './call.ts'
import { asCrawler, crawlerMaxOf, lowerOf } from './crawler.ts'
import { idempotencyKeyOf } from './idempotent.ts'
import { maxPriceOf, quoteIdOf } from './quote.ts'

export const PROXY_PATH = '/proxy'

export interface ProxyPorts {
  readonly call: (request: CallRequest) => Promise<Reply>
  /** What callers see as our address. */
  readonly baseUrl: () => string
}

/** Everything below `/proxy/` is a call of a service. */
export const proxyDoor =
  ({ call, baseUrl }: ProxyPorts): Middleware =>
  async (ctx, next) => {
    if (!ctx.path.startsWith(`${PROXY_PATH}/`)) return next()
    openToAll(ctx)
    ctx.set(CONTAINED)
    if (ctx.method === 'OPTIONS') return tellMethods(ctx, METHODS, true)
    const trace = traceOf(ctx)
    trace.route = `${PROXY_PATH}/{slug}`
    const { slug, path } = target(ctx.req.url ?? '/')
    const hasBody = ctx.method !== 'GET' && ctx.method !== 'HEAD' && ctx.method !== 'DELETE'
    const crawlerMax = crawlerMaxOf(header(ctx, 'crawler-max-price'))
    const request: CallRequest = {
      requestId: requestIdOf(ctx),
      slug,
      method: ctx.method,
      path,
      get url() {
        return new URL(ctx.path, baseUrl()).href
      },
      query: queryOf(ctx),
      ...(hasBody ? await readable(ctx) : { body: undefined }),
      headers: ctx.req.headers,
      authorization: authorizationOf(ctx),
      payment: header(ctx, 'payment-signature'),
      idempotencyKey: idempotencyKeyOf(header(ctx, 'idempotency-key')),
      maxPrice: lowerOf(maxPriceOf(header(ctx, 'x-max-price')), crawlerMax),
      quoteId: quoteIdOf(header(ctx, 'x-quote-id')),
      dryRun: isDryRun(header(ctx, 'x-dry-run'), ctx.query[DRY_RUN]),
      isGone: () => ctx.req.socket.destroyed,
      early: (headers) => ctx.set({ ...headers }),
      ip: ctx.ip,
      trace,
    }
    const make = () => call(request)
    const reply = await (crawlerMax === undefined ? make() : asCrawler(make))
    send(ctx, reply)
  }

/**
 * What somebody else wrote, at an address of the hub: a browser takes it for what it is called, and
 * runs nothing of it, so that no provider can act for who is signed in here.
 */
const CONTAINED = {
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
} as const

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The query member that asks for a dry run; endpoints do not see it. */
const DRY_RUN = 'dry_run'

/** @throws Fault `validation_failed` for what is neither yes nor no */
function isDryRun(header: string | undefined, member: string | string[] | undefined): boolean {
  const asked = [header, member].filter((value) => value !== undefined)
  if (asked.every((value) => typeof value === 'string' && YES_OR_NO.test(value))) {
    return asked.some((value) => !/^(?:false|0)$/.test(String(value)))
  }
  throw new Fault('validation_failed', 'dry_run is true, false or empty.')
}

const YES_OR_NO = /^(?:|true|1|false|0)$/

/** The body, or why it cannot be read: whether that matters depends on who is to pay. */
async function readable(ctx: Context): Promise<Pick<CallRequest, 'body' | 'unreadable'>> {
  try {
    return { body: await readJson(ctx.req) }
  } catch (error) {
    if (error instanceof Fault) return { body: undefined, unreadable: error }
    throw error
  }
}

function queryOf({ query }: Context): CallRequest['query'] {
  const { [DRY_RUN]: _, ...rest } = query
  return rest
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
