import { parse } from 'node:querystring'
import { Fault } from '../../core/errors.ts'
import type { Answer } from '../http/answer.ts'
import { readJson } from '../http/body.ts'
import { OPEN_TO_ALL, optionsOf } from '../http/cross-origin.ts'
import { type Asked, type EarlyDoor, earlyDoor } from '../http/early-entry.ts'
import { authorizationOf, header, requestIdOf, writtenOf } from '../http/exchange.ts'
import { assertWellFormed } from '../http/malformed.ts'
import { problem, reported } from '../http/problem.ts'
import type { Observers } from '../observability/observe.ts'
import { traceOf } from '../observability/trace.ts'
import type { CallRequest, Reply } from './call.ts'
import { asCrawler, crawlerMaxOf, lowerOf } from './crawler.ts'
import { idempotencyKeyOf } from './idempotent.ts'
import { maxPriceOf, quoteIdOf } from './quote.ts'
import { Flow } from './stream.ts'

export const PROXY_PATH = '/proxy'

export interface ProxyPorts extends Observers {
  readonly call: (request: CallRequest) => Promise<Reply>
  /** What callers see as our address. */
  readonly baseUrl: () => string
}

/** Everything below `/proxy/` is a call of a service. */
export const proxyDoor = (ports: ProxyPorts): EarlyDoor =>
  earlyDoor(
    (path) => path.startsWith(`${PROXY_PATH}/`),
    ports,
    (asked, answer) => serve(asked, answer, ports),
  )

async function serve(asked: Asked, answer: Answer, ports: ProxyPorts): Promise<void> {
  answer.tell(ALWAYS)
  // Sent beyond the catch: of a call that was charged nobody is to be told that it was not.
  const reply = await made(asked, answer, ports).catch((error: unknown) => {
    const { path, req } = asked
    const at = { requestId: requestIdOf(asked), method: req.method, path }
    const fault = reported(error, ports.log, at)
    return problem(fault, at.requestId, path)
  })
  const { status, headers, body } = reply
  answer.tell(headers)
  traceOf(asked).charged ??= BigInt(headers['X-Charged-Microdollars'] ?? 0)
  if (body instanceof Flow) answer.flow(status, body)
  else await answer.send(status, writtenOf(body))
}

/** Makes the call that is asked for. */
async function made(asked: Asked, answer: Answer, { call, baseUrl }: ProxyPorts): Promise<Reply> {
  const { req } = asked
  const { method = 'GET' } = req
  assertWellFormed(req)
  if (method === 'OPTIONS') return { status: 204, headers: OPTIONS, body: undefined }
  const trace = traceOf(asked)
  trace.route = `${PROXY_PATH}/{slug}`
  const { slug, path } = target(asked.path)
  const hasBody = method !== 'GET' && method !== 'HEAD' && method !== 'DELETE'
  const crawlerMax = crawlerMaxOf(header(asked, 'crawler-max-price'))
  const { [DRY_RUN]: dryRun, ...query } = queryOf(req.url)
  // Without getters: in a literal each would give every request a hidden class of its own, which
  // lives until the next full collection and holds all of the request until then.
  const request: CallRequest = {
    requestId: requestIdOf(asked),
    slug,
    method,
    path,
    url: () => new URL(asked.path, baseUrl()).href,
    query,
    ...(hasBody ? await readable(asked) : { body: undefined }),
    headers: req.headers,
    authorization: authorizationOf(asked),
    payment: header(asked, 'payment-signature'),
    idempotencyKey: idempotencyKeyOf(header(asked, 'idempotency-key')),
    maxPrice: lowerOf(maxPriceOf(header(asked, 'x-max-price')), crawlerMax),
    quoteId: quoteIdOf(header(asked, 'x-quote-id')),
    dryRun: isDryRun(header(asked, 'x-dry-run'), dryRun),
    isGone: () => req.socket.destroyed,
    early: (headers) => answer.tell(headers),
    ip: () => asked.koa().ip,
    trace,
  }
  return crawlerMax === undefined ? await call(request) : asCrawler(() => call(request))
}

/**
 * What somebody else wrote, at an address of the hub: a browser takes it for what it is called, and
 * runs nothing of it, so that no provider can act for who is signed in here. It is JSON unless the
 * reply says otherwise.
 */
const ALWAYS = {
  ...OPEN_TO_ALL,
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Content-Type': 'application/json; charset=utf-8',
} as const

const OPTIONS = optionsOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], true)

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

/**
 * The body, or why it cannot be read: whether that matters depends on who is to pay.
 * @throws Fault `caller_gone`
 */
async function readable({ req }: Asked): Promise<Pick<CallRequest, 'body' | 'unreadable'>> {
  try {
    return { body: await readJson(req) }
  } catch (error) {
    if (!(error instanceof Fault) || error.code === 'caller_gone') throw error
    return { body: undefined, unreadable: error }
  }
}

function queryOf(url = ''): ReturnType<typeof parse> {
  const start = url.indexOf('?')
  return start < 0 ? {} : parse(url.slice(start + 1))
}

/** Dot segments, empty ones, separators and control characters; and any of them encoded twice. */
const AMBIGUOUS = /[\\\p{Cc}]|\/\.{1,2}(\/|$)|\/\/|%(2e|2f|5c)/iu

/** Splits `/proxy/{slug}/{path}`, and refuses what some server behind us could read otherwise. */
function target(raw: string): { readonly slug: string; readonly path: string } {
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
