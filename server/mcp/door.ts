import type { JSONRPCResponse } from 'json-rpc-2.0'
import type { Context, Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'
import type { KeyRing } from '../../core/identity/keys.ts'
import type { Log } from '../../core/log.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import type { Standing } from '../../core/usage/standing.ts'
import { readJson } from '../body.ts'
import { authorizationOf, header, identify, pathOf, requestIdOf } from '../exchange.ts'
import { assertWellFormed } from '../http/broken.ts'
import { type Observers, watch } from '../observe.ts'
import { faultOf, isOurFailure, problem } from '../problem.ts'
import { traceOf } from '../trace.ts'
import { type Admission, assertAdmitted } from './admit.ts'
import { Answer } from './answer.ts'
import { CAPABILITIES, type Era, eraOf } from './era.ts'
import { codeOfStatus, RPC, RpcError } from './errors.ts'
import { type Id, idOf, isId, isJson, metaOf, type Request, readMessage } from './message.ts'
import { remembered } from './recent.ts'
import { createRpc, type Rpc, type RpcContext } from './rpc.ts'
import { Progress } from './stream.ts'
import type { AnyTool } from './tool.ts'

export const MCP_PATH = '/mcp'

export interface McpPorts extends Observers {
  readonly tools: readonly AnyTool[]
  readonly keys: KeyRing
  readonly limits: RateLimits
  readonly standing: Standing
  readonly admission: Admission
  readonly version: string
}

/**
 * The endpoint of MCP: one message a POST, answered by itself, with nothing kept between two of
 * them. README.md has the table of what is answered when.
 */
export function mcpDoor(ports: McpPorts): Middleware {
  const rpc = createRpc(ports.tools, ports.version)
  return async (ctx, next) => {
    if (pathOf(ctx) !== MCP_PATH) return next()
    watch(ports, ctx).route = MCP_PATH
    identify(ctx)
    const answer = new Answer(ctx)
    if (ports.draining()) answer.tell({ Connection: 'close' })
    let id: Id | undefined
    try {
      const known = await admit(ctx, answer, ports)
      const body = await readJson(ctx.req)
      id = idOf(body)
      const message = readMessage(body)
      if (message.kind === 'request') await respond(ctx, answer, rpc, message, known)
      else answer.accept()
    } catch (error) {
      await refuse(ctx, answer, error, id, ports)
    }
  }
}

/** Who asks, and how often. */
type Known = Pick<RpcContext, 'caller' | 'rate' | 'authorization' | 'report'>

/** Everything that is judged before the body is read. */
async function admit(ctx: Context, answer: Answer, ports: McpPorts): Promise<Known> {
  const { admission, keys, limits, standing, log } = ports
  assertWellFormed(ctx.req)
  assertAdmitted(ctx, admission)
  if (ctx.method !== 'POST') {
    const headers = { Allow: 'POST' }
    throw new Fault('method_not_allowed', 'MCP is spoken here by POST alone.', { headers })
  }
  const trace = traceOf(ctx)
  const authorization = authorizationOf(ctx) ?? ''
  const caller = await trace.step('authenticate', () => keys.authenticate(authorization))
  trace.keyId = caller.keyId
  const rate = await trace.step('limit', async () =>
    limits.key(caller, await standing.tier(caller.credits)),
  )
  answer.tell(rate.headers)
  if (!readsJson(ctx)) throw new Fault('not_acceptable')
  return { caller, rate, authorization, report: reporter(ctx, log) }
}

/** What MCP has clients send names it; only others are worth a closer look. */
const readsJson = (ctx: Context): boolean =>
  ctx.req.headers.accept?.startsWith('application/json,') ||
  ctx.accepts('application/json') !== false

function contextOf(
  ctx: Context,
  request: Request,
  known: Known,
  era: Era,
  progress: Progress | undefined,
): RpcContext {
  const meta = metaOf(request)
  const { [CAPABILITIES]: declared } = meta
  return {
    ...known,
    era,
    ip: ctx.ip,
    requestId: requestIdOf(ctx),
    trace: traceOf(ctx),
    meta,
    capabilities: isJson(declared) ? declared : {},
    signal: era === 'modern' ? goneSignal(ctx) : NEVER,
    progress: (...told) => progress?.tell(...told),
  }
}

/** A legacy client that goes away has not cancelled: it may ask for the answer again. */
const NEVER = new AbortController().signal

function goneSignal(ctx: Context): AbortSignal {
  const gone = new AbortController()
  ctx.res.once('close', () => {
    if (!ctx.res.writableFinished) gone.abort()
  })
  return gone.signal
}

/** Undefined: the client has not asked for it, or could not read it. */
function progressOf(ctx: Context, answer: Answer, request: Request): Progress | undefined {
  const { progressToken: token } = metaOf(request)
  if (request.method !== 'tools/call' || !isId(token)) return undefined
  return ctx.get('accept').includes('text/event-stream') ? new Progress(answer, token) : undefined
}

async function respond(
  ctx: Context,
  answer: Answer,
  rpc: Rpc,
  request: Request,
  known: Known,
): Promise<void> {
  const era = eraOf(request, (name) => header(ctx, name))
  const progress = progressOf(ctx, answer, request)
  try {
    const { status, body } = await rpc(request, contextOf(ctx, request, known, era, progress))
    const text = written(body)
    if (progress?.isOpen) progress.end(text)
    else await answer.send(status, text)
  } finally {
    progress?.close()
  }
}

/** Results that are given out again and again, such as lists, are written once. */
const textOf = remembered((result: object) => JSON.stringify(result))

const written = ({ result, ...message }: JSONRPCResponse): string =>
  typeof result === 'object' && result !== null
    ? `${JSON.stringify(message).slice(0, -1)},"result":${textOf(result)}}`
    : JSON.stringify({ ...message, result })

/** A failure of HTTP or of the message, as an error of JSON-RPC; one that knows no id has none. */
function refuse(
  ctx: Context,
  answer: Answer,
  error: unknown,
  id: Id | undefined,
  { log }: McpPorts,
): Promise<void> {
  const { status, headers, body } =
    error instanceof RpcError ? ofMessage(error) : ofHttp(ctx, error, log)
  answer.tell(headers)
  const message = { jsonrpc: '2.0', ...(id !== undefined && { id }), error: body }
  return answer.send(status, JSON.stringify(message))
}

const ofMessage = ({ status, code, message, data }: RpcError) => ({
  status,
  headers: {},
  body: { code, message, ...(data && { data }) },
})

function ofHttp(ctx: Context, error: unknown, log: Log) {
  const fault = faultOf(error)
  reporter(ctx, log)(fault)
  const { status, headers, body: data } = problem(fault, requestIdOf(ctx), MCP_PATH)
  const { 'Content-Type': _, ...others } = headers
  if (fault.code === 'malformed_json') {
    return { status, headers: others, body: { code: RPC.parse, message: fault.message, data } }
  }
  if (status === 400 || status === 422) {
    const told = { code: RPC.invalidRequest, message: fault.message, data }
    return { status: 400, headers: others, body: told }
  }
  const message = status === 401 ? `${fault.message} ${NO_KEY}` : fault.message
  const challenge = status === 401 ? { 'WWW-Authenticate': challengeOf(ctx) } : {}
  return {
    status,
    headers: { ...others, ...challenge },
    body: { code: codeOfStatus(status), message, data },
  }
}

const NO_KEY = 'This hub knows API keys alone, and no OAuth: "npx agenthub register" makes one.'

/** RFC 6750: without a key no error is named. */
const challengeOf = (ctx: Context): string =>
  ctx.get('authorization') === ''
    ? 'Bearer realm="hub"'
    : 'Bearer realm="hub", error="invalid_token"'

const reporter =
  (ctx: Context, log: Log) =>
  (fault: Fault): void => {
    if (!isOurFailure(fault)) return
    const requestId = requestIdOf(ctx)
    log.error(
      { err: fault.cause ?? fault, requestId, method: ctx.method, path: MCP_PATH },
      fault.code,
    )
  }
