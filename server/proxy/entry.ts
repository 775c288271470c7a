import type { IncomingHttpHeaders } from 'node:http'
import { parse } from 'node:querystring'
import { Fault } from '../../core/errors.ts'
import { readJson } from '../http/body.ts'
import { optionsHeaders, PUBLIC_CORS_HEADERS } from '../http/cors.ts'
import {
  readAuthorization,
  readSingleHeader,
  requestIdOf,
  serializeBody,
} from '../http/exchange.ts'
import { isFormType, readFormBody } from '../http/form-body.ts'
import type { HttpResponse } from '../http/http-response.ts'
import { assertWellFormed, decodePath } from '../http/malformed.ts'
import { readPaymentHeader, withReceipt } from '../http/payment-headers.ts'
import { type PreKoaExchange, type PreKoaHandler, preKoaHandler } from '../http/pre-koa.ts'
import { problem, reportFault } from '../http/problem.ts'
import { searchOf } from '../http/query.ts'
import { ResponseStream } from '../http/response-stream.ts'
import type { ResponseWriter } from '../http/response-writer.ts'
import type { Observers } from '../observability/observe.ts'
import { traceOf } from '../observability/trace.ts'
import { signedMessageOf } from './agent.ts'
import { parseIdempotencyKey } from './attempt.ts'
import type { CallRequest } from './call-types.ts'
import { crawlerName, lowerOf, parseCrawlerMaxPrice, withCrawlerPrice } from './crawler.ts'
import { parseMaxPrice, parseQuoteId } from './quote.ts'

export const PROXY_PATH = '/proxy'

export interface ProxyDeps extends Observers {
  readonly call: (request: CallRequest) => Promise<HttpResponse>
  readonly baseUrl: () => string
}

/** Entry point of calls: `/proxy/{slug}/{path}`. */
export const proxyEntry = (deps: ProxyDeps): PreKoaHandler =>
  preKoaHandler(
    (path) => path.startsWith(`${PROXY_PATH}/`),
    deps,
    (exchange, writer) => serve(exchange, writer, deps),
  )

async function serve(
  exchange: PreKoaExchange,
  writer: ResponseWriter,
  deps: ProxyDeps,
): Promise<void> {
  writer.setHeaders(RESPONSE_HEADERS)
  // Sent outside the catch: a charged call must not be reported as failed.
  let response: HttpResponse
  try {
    response = await makeCall(exchange, writer, deps)
  } catch (error) {
    const { path, req } = exchange
    const requestId = requestIdOf(exchange)
    const fault = reportFault(error, deps.log, { requestId, method: req.method, path })
    response = problem(fault, requestId, path)
  }
  const { status, body } = response
  const headers = withReceipt(response.headers, (name) => readSingleHeader(exchange, name))
  writer.setHeaders(headers)
  traceOf(exchange).charged ??= BigInt(headers['X-Charged-Microdollars'] ?? 0)
  if (body instanceof ResponseStream) writer.sendStream(status, body)
  else {
    const sending = writer.send(status, serializeBody(body))
    if (sending) await sending
  }
}

async function makeCall(
  exchange: PreKoaExchange,
  writer: ResponseWriter,
  { call, baseUrl, connections }: ProxyDeps,
): Promise<HttpResponse> {
  const { req, res } = exchange
  const { method = 'GET' } = req
  assertWellFormed(req)
  if (method === 'OPTIONS') return { status: 204, headers: OPTIONS, body: undefined }
  const trace = traceOf(exchange)
  trace.route = `${PROXY_PATH}/{slug}`
  const { slug, path } = parseTarget(exchange.path)
  const isHead = method === 'HEAD'
  const hasBody = method !== 'GET' && !isHead && (method !== 'DELETE' || sendsBody(req.headers))
  const crawlerMax = parseCrawlerMaxPrice(readSingleHeader(exchange, 'crawler-max-price'))
  const maxPrice = parseMaxPrice(readSingleHeader(exchange, 'x-max-price'))
  const { [DRY_RUN]: dryRun, ...query } = queryOf(req.url)
  // No getters: V8 would create a hidden class for each request, which lives until the next full
  // collection and keeps the request alive until then.
  const request: CallRequest = {
    requestId: requestIdOf(exchange),
    slug,
    method: isHead ? 'GET' : method,
    path,
    url: () => new URL(exchange.path, baseUrl()).href,
    query,
    ...(hasBody ? await readBody(exchange) : { body: undefined }),
    headers: req.headers,
    authorization: readAuthorization(exchange),
    payment: readPaymentHeader((name) => readSingleHeader(exchange, name)),
    signIn: readSingleHeader(exchange, 'sign-in-with-x'),
    signedMessage: signedMessageOf(req, () => `${baseUrl()}${exchange.path}`),
    idempotencyKey: parseIdempotencyKey(readSingleHeader(exchange, 'idempotency-key')),
    maxPrice: lowerOf(maxPrice, crawlerMax),
    maxPriceName: crawlerMax === undefined ? undefined : crawlerName(maxPrice, crawlerMax),
    quoteId: parseQuoteId(readSingleHeader(exchange, 'x-quote-id')),
    acceptPayTo: readSingleHeader(exchange, 'x-accept-pay-to'),
    // The caller of HEAD sees nothing of what was bought: it gets the offer or the refusal of GET.
    dryRun: isHead || isDryRun(readSingleHeader(exchange, 'x-dry-run'), dryRun),
    isGone: () => req.socket.destroyed,
    reserveMemory: (bytes) => connections.reserve(res, bytes),
    addHeaders: (headers) => writer.setHeaders(headers),
    ip: () => exchange.koa().ip,
    trace,
  }
  return crawlerMax === undefined ? await call(request) : withCrawlerPrice(() => call(request))
}

/** No sniffing and no scripts: no provider can act for a person signed in to the hub. */
const RESPONSE_HEADERS = {
  ...PUBLIC_CORS_HEADERS,
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Content-Type': 'application/json; charset=utf-8',
} as const

const OPTIONS = optionsHeaders(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], true)

/** Query parameter that requests a dry run; removed from the endpoint's input. */
const DRY_RUN = 'dry_run'

/** @throws Fault `validation_failed` for a value that is not a boolean */
function isDryRun(header: string | undefined, parameter: string | string[] | undefined): boolean {
  const values = [header, parameter].filter((value) => value !== undefined)
  if (values.every((value) => typeof value === 'string' && BOOLEAN.test(value))) {
    return values.some((value) => !/^(?:false|0)$/.test(String(value)))
  }
  throw new Fault('validation_failed', 'dry_run must be true, false or empty.')
}

const BOOLEAN = /^(?:|true|1|false|0)$/

/** Reads the body, or why it is unreadable: the 402 comes first. @throws Fault `caller_gone` */
async function readBody({ req }: PreKoaExchange): Promise<Pick<CallRequest, 'body' | 'bodyError'>> {
  try {
    const isForm = isFormType(req.headers['content-type'])
    return { body: await (isForm ? readFormBody(req) : readJson(req)) }
  } catch (error) {
    if (!(error instanceof Fault) || error.code === 'caller_gone') throw error
    return { body: undefined, bodyError: error }
  }
}

const sendsBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const queryOf = (url?: string): ReturnType<typeof parse> => parse(searchOf(url).slice(1))

/** Splits `/proxy/{slug}/{path}`. Refuses slashes that would be separators only once decoded. */
function parseTarget(raw: string): { readonly slug: string; readonly path: string } {
  if (/%2f/i.test(raw)) throw new Fault('malformed_path')
  const target = decodePath(raw).slice(PROXY_PATH.length + 1)
  const end = target.indexOf('/')
  if (end < 0) return { slug: target, path: '/' }
  return { slug: target.slice(0, end), path: target.slice(end) }
}
