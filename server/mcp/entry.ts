import type { JSONRPCResponse } from 'json-rpc-2.0'
import { Fault } from '../../core/errors.ts'
import type { KeyRing } from '../../core/identity/keys.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { LoadingCache, memoizeByObject } from '../../core/runtime/cache.ts'
import type { AccountStatus } from '../../core/usage/account-status.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import { readJson } from '../http/body.ts'
import { readAuthorization, readSingleHeader, requestIdOf } from '../http/exchange.ts'
import { assertWellFormed } from '../http/malformed.ts'
import { type PreKoaExchange, type PreKoaHandler, preKoaHandler } from '../http/pre-koa.ts'
import { problem, reportFault } from '../http/problem.ts'
import type { ResponseWriter } from '../http/response-writer.ts'
import type { Observers } from '../observability/observe.ts'
import { traceOf } from '../observability/trace.ts'
import { signedMessageOf } from '../proxy/agent.ts'
import { CAPABILITIES, type Era, eraOf } from './era.ts'
import { codeOfStatus, RPC, RpcError } from './errors.ts'
import { type Id, idOf, isId, metaOf, type Request, readMessage } from './message.ts'
import { noOAuth } from './oauth.ts'
import {
  assertOriginAllowed,
  corsHeadersFor,
  type OriginPolicy,
  PREFLIGHT_HEADERS,
} from './origin-policy.ts'
import { ProgressStream } from './progress-stream.ts'
import { createRpc, type Rpc, type RpcContext } from './rpc.ts'
import type { AnyTool } from './tool.ts'
import type { FindEndpointTools } from './tools/endpoint-tools.ts'

export const MCP_PATH = '/mcp'

export interface McpDeps extends Observers {
  readonly tools: readonly AnyTool[]
  /** Finds the tools that `?services=` adds. */
  readonly toolsOf: FindEndpointTools
  readonly keys: KeyRing
  readonly limits: RateLimits
  readonly accountStatus: AccountStatus
  readonly originPolicy: OriginPolicy
  readonly version: string
  /** Returns the URL of the endpoint. */
  readonly url: () => string
  /** Command that starts the command line. */
  readonly cliCommand: () => string
}

/** MCP endpoint: one message per POST, without sessions. README.md lists all responses. */
export function mcpEntry(deps: McpDeps): PreKoaHandler {
  const { tools, toolsOf, version } = deps
  const rpc = createRpc(tools, version)
  const withServices = new LoadingCache(
    async (services: string) =>
      createRpc([...tools, ...(await toolsOf(services.split(',')))], version),
    { ttlMs: SERVICES_MS, max: SERVICES_CACHED_MAX },
  )
  const rpcOf = ({ req: { url = '' } }: PreKoaExchange): Rpc | Promise<Rpc> => {
    const query = url.indexOf('?')
    const services = query === -1 ? null : new URLSearchParams(url.slice(query)).get('services')
    if (services === null || services === '') return rpc
    return withServices.get(services) ?? withServices.load(services)
  }
  const isMcp = (path: string): boolean => path === MCP_PATH
  return preKoaHandler(isMcp, deps, (exchange, writer) => serve(exchange, writer, rpcOf, deps))
}

/** Lifetime of the tools of services, whose prices may change. */
const SERVICES_MS = 5_000
const SERVICES_CACHED_MAX = 200

async function serve(
  exchange: PreKoaExchange,
  writer: ResponseWriter,
  rpcOf: (exchange: PreKoaExchange) => Rpc | Promise<Rpc>,
  deps: McpDeps,
): Promise<void> {
  traceOf(exchange).route = MCP_PATH
  let id: Id | undefined
  try {
    assertWellFormed(exchange.req)
    assertOriginAllowed(exchange.req, deps.originPolicy)
    writer.setHeaders(corsHeadersFor(exchange.req))
    if (isPreflight(exchange)) return writer.sendPreflight(PREFLIGHT_HEADERS)
    const authenticated = await authenticate(exchange, writer, deps)
    const body = await readJson(exchange.req)
    id = idOf(body)
    const message = readMessage(body)
    if (message.kind !== 'request') return writer.sendAccepted()
    const rpc = rpcOf(exchange)
    const chosen = rpc instanceof Promise ? await rpc : rpc
    await respond(exchange, writer, chosen, message, authenticated)
  } catch (error) {
    await sendError(exchange, writer, error, id, deps)
  }
}

const isPreflight = ({ req: { method, headers } }: PreKoaExchange): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

/** Caller, rate limit state and capabilities of a request. */
type AuthenticatedRequest = Pick<
  RpcContext,
  | 'caller'
  | 'rate'
  | 'authorization'
  | 'endpointUrl'
  | 'signedMessage'
  | 'addHeaders'
  | 'reportFault'
  | 'reserveMemory'
>

/** Checks method, key, rate limit and Accept header before the body is read. */
async function authenticate(
  exchange: PreKoaExchange,
  writer: ResponseWriter,
  deps: McpDeps,
): Promise<AuthenticatedRequest> {
  const { keys, limits, accountStatus, log, connections, url } = deps
  if (exchange.req.method !== 'POST') {
    const headers = { Allow: 'POST' }
    throw new Fault('method_not_allowed', 'The MCP endpoint accepts POST only.', { headers })
  }
  const trace = traceOf(exchange)
  const authorization = readAuthorization(exchange) ?? ''
  const network = (): string => networkPrefix(exchange.koa().ip)
  const caller = await trace.step('authenticate', () => keys.authenticate(authorization, network))
  trace.identify(caller)
  const rate = await trace.step('limit', async () =>
    limits.key(caller, await accountStatus.tier(caller.credits)),
  )
  writer.setHeaders(rate.headers)
  if (!acceptsJson(exchange)) throw new Fault('not_acceptable')
  const reserveMemory = (bytes: number) => connections.reserve(exchange.res, bytes)
  return {
    caller,
    rate,
    authorization,
    endpointUrl: url,
    signedMessage: signedMessageOf(exchange.req, url),
    addHeaders: (headers) => writer.setHeaders(headers),
    reserveMemory,
    reportFault: reporter(exchange, log),
  }
}

/** MCP clients list `application/json` first; any other Accept header is negotiated by Koa. */
const acceptsJson = ({ req, koa }: PreKoaExchange): boolean =>
  req.headers.accept?.startsWith('application/json,') || koa().accepts('application/json') !== false

function contextOf(
  exchange: PreKoaExchange,
  request: Request,
  authenticated: AuthenticatedRequest,
  era: Era,
  progress: ProgressStream | undefined,
): RpcContext {
  const meta = metaOf(request)
  const { [CAPABILITIES]: declared } = meta
  return {
    ...authenticated,
    era,
    address: () => exchange.koa().ip,
    requestId: requestIdOf(exchange),
    trace: traceOf(exchange),
    meta,
    capabilities: isJsonObject(declared) ? declared : {},
    signal: era === 'modern' ? disconnectSignal(exchange) : NEVER_ABORTED,
    progress: (...update) => progress?.report(...update),
  }
}

/** A legacy client that disconnects has not canceled: it may request the response again. */
const NEVER_ABORTED = new AbortController().signal

function disconnectSignal({ res }: PreKoaExchange): AbortSignal {
  const controller = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Undefined if the client did not request progress, or does not accept event streams. */
function openProgress(
  { req }: PreKoaExchange,
  writer: ResponseWriter,
  request: Request,
): ProgressStream | undefined {
  const { progressToken: token } = metaOf(request)
  if (request.method !== 'tools/call' || !isId(token)) return undefined
  const acceptsEvents = req.headers.accept?.includes('text/event-stream')
  return acceptsEvents ? new ProgressStream(writer, token) : undefined
}

async function respond(
  exchange: PreKoaExchange,
  writer: ResponseWriter,
  rpc: Rpc,
  request: Request,
  authenticated: AuthenticatedRequest,
): Promise<void> {
  const era = eraOf(request, (name) => readSingleHeader(exchange, name))
  const progress = openProgress(exchange, writer, request)
  try {
    const { status, body } = await rpc(
      request,
      contextOf(exchange, request, authenticated, era, progress),
    )
    const text = serializeMessage(body)
    if (progress?.isOpen) progress.end(text)
    else await sendJson(writer, status, text)
  } finally {
    progress?.close()
  }
}

const JSON_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const

function sendJson(writer: ResponseWriter, status: number, json: string): Promise<void> | undefined {
  writer.setHeaders(JSON_HEADERS)
  return writer.send(status, json)
}

/** Serializes results that are returned repeatedly, such as lists, only once. */
const serializeResult = memoizeByObject((result: object) => JSON.stringify(result))

const serializeMessage = (message: JSONRPCResponse): string => {
  const { id, result } = message as { readonly id: Id; readonly result?: unknown }
  return isJsonObject(result)
    ? `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${serializeResult(result)}}`
    : JSON.stringify(message)
}

/** Sends an error as a JSON-RPC error, without an id if the message's id is not known. */
function sendError(
  exchange: PreKoaExchange,
  writer: ResponseWriter,
  error: unknown,
  id: Id | undefined,
  deps: McpDeps,
): Promise<void> | undefined {
  const { status, headers, body } =
    error instanceof RpcError ? rpcErrorResponse(error) : httpErrorResponse(exchange, error, deps)
  writer.setHeaders(headers)
  const message = { jsonrpc: '2.0', ...(id !== undefined && { id }), error: body }
  return sendJson(writer, status, JSON.stringify(message))
}

const rpcErrorResponse = ({ status, code, message, data }: RpcError) => ({
  status,
  headers: {},
  body: { code, message, ...(data && { data }) },
})

function httpErrorResponse(exchange: PreKoaExchange, error: unknown, { log, cliCommand }: McpDeps) {
  const fault = reporter(exchange, log)(error)
  const { status, headers, body: data } = problem(fault, requestIdOf(exchange), MCP_PATH)
  const { 'Content-Type': _, ...others } = headers
  if (fault.code === 'malformed_json') {
    return { status, headers: others, body: { code: RPC.parse, message: fault.message, data } }
  }
  if (status === 400 || status === 422) {
    const body = { code: RPC.invalidRequest, message: fault.message, data }
    return { status: 400, headers: others, body }
  }
  const message = status === 401 ? `${fault.message} ${noOAuth(cliCommand())}` : fault.message
  const challenge = status === 401 ? { 'WWW-Authenticate': challengeOf(exchange) } : {}
  return {
    status,
    headers: { ...others, ...challenge },
    body: { code: codeOfStatus(status), message, data },
  }
}

/** RFC 6750: a request without a key gets no error code. */
const challengeOf = ({ req }: PreKoaExchange): string =>
  (req.headers.authorization ?? '') === ''
    ? 'Bearer realm="hub"'
    : 'Bearer realm="hub", error="invalid_token"'

const reporter =
  (exchange: PreKoaExchange, log: Log) =>
  (error: unknown): Fault =>
    reportFault(error, log, {
      requestId: requestIdOf(exchange),
      method: exchange.req.method,
      path: MCP_PATH,
    })
