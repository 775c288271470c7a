import type { JSONRPCResponse } from 'json-rpc-2.0'
import { Fault } from '../../core/errors.ts'
import type { KeyRing } from '../../core/identity/keys.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Standing } from '../../core/usage/account-status.ts'
import type { RateLimits } from '../../core/usage/rate-limit.ts'
import type { Answer } from '../http/answer.ts'
import { readJson } from '../http/body.ts'
import { type Asked, type EarlyDoor, earlyDoor } from '../http/early-entry.ts'
import { authorizationOf, header, requestIdOf } from '../http/exchange.ts'
import { assertWellFormed } from '../http/malformed.ts'
import { problem, reported } from '../http/problem.ts'
import type { Observers } from '../observability/observe.ts'
import { traceOf } from '../observability/trace.ts'
import { type Admission, assertAdmitted, PREFLIGHT, readableBy } from './admit.ts'
import { CAPABILITIES, type Era, eraOf } from './era.ts'
import { codeOfStatus, RPC, RpcError } from './errors.ts'
import { type Id, idOf, isId, metaOf, type Request, readMessage } from './message.ts'
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
export function mcpDoor(ports: McpPorts): EarlyDoor {
  const rpc = createRpc(ports.tools, ports.version)
  const isOurs = (path: string): boolean => path === MCP_PATH
  return earlyDoor(isOurs, ports, (asked, answer) => serve(asked, answer, rpc, ports))
}

async function serve(asked: Asked, answer: Answer, rpc: Rpc, ports: McpPorts): Promise<void> {
  traceOf(asked).route = MCP_PATH
  let id: Id | undefined
  try {
    assertWellFormed(asked.req)
    assertAdmitted(asked.req, ports.admission)
    answer.tell(readableBy(asked.req))
    if (isPreflight(asked)) return answer.permit(PREFLIGHT)
    const known = await admit(asked, answer, ports)
    const body = await readJson(asked.req)
    id = idOf(body)
    const message = readMessage(body)
    if (message.kind === 'request') await respond(asked, answer, rpc, message, known)
    else answer.accept()
  } catch (error) {
    await refuse(asked, answer, error, id, ports)
  }
}

/** Whether it is a browser's question, and no message. */
const isPreflight = ({ req: { method, headers } }: Asked): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

/** Who asks, and how often. */
type Known = Pick<RpcContext, 'caller' | 'rate' | 'authorization' | 'reported'>

/** What else is judged before the body is read. */
async function admit(asked: Asked, answer: Answer, ports: McpPorts): Promise<Known> {
  const { keys, limits, standing, log } = ports
  if (asked.req.method !== 'POST') {
    const headers = { Allow: 'POST' }
    throw new Fault('method_not_allowed', 'MCP is spoken here by POST alone.', { headers })
  }
  const trace = traceOf(asked)
  const authorization = authorizationOf(asked) ?? ''
  const caller = await trace.step('authenticate', () => keys.authenticate(authorization))
  trace.keyId = caller.keyId
  const rate = await trace.step('limit', async () =>
    limits.key(caller, await standing.tier(caller.credits)),
  )
  answer.tell(rate.headers)
  if (!readsJson(asked)) throw new Fault('not_acceptable')
  return { caller, rate, authorization, reported: reporter(asked, log) }
}

/** What MCP has clients send names it; only others are worth a closer look. */
const readsJson = ({ req, koa }: Asked): boolean =>
  req.headers.accept?.startsWith('application/json,') || koa().accepts('application/json') !== false

function contextOf(
  asked: Asked,
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
    address: () => asked.koa().ip,
    requestId: requestIdOf(asked),
    trace: traceOf(asked),
    meta,
    capabilities: isJsonObject(declared) ? declared : {},
    signal: era === 'modern' ? goneSignal(asked) : NEVER,
    progress: (...told) => progress?.tell(...told),
  }
}

/** A legacy client that goes away has not cancelled: it may ask for the answer again. */
const NEVER = new AbortController().signal

function goneSignal({ res }: Asked): AbortSignal {
  const gone = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort()
  })
  return gone.signal
}

/** Undefined: the client has not asked for it, or could not read it. */
function progressOf({ req }: Asked, answer: Answer, request: Request): Progress | undefined {
  const { progressToken: token } = metaOf(request)
  if (request.method !== 'tools/call' || !isId(token)) return undefined
  const takes = req.headers.accept?.includes('text/event-stream')
  return takes ? new Progress(answer, token) : undefined
}

async function respond(
  asked: Asked,
  answer: Answer,
  rpc: Rpc,
  request: Request,
  known: Known,
): Promise<void> {
  const era = eraOf(request, (name) => header(asked, name))
  const progress = progressOf(asked, answer, request)
  try {
    const { status, body } = await rpc(request, contextOf(asked, request, known, era, progress))
    const text = written(body)
    if (progress?.isOpen) progress.end(text)
    else await sendJson(answer, status, text)
  } finally {
    progress?.close()
  }
}

const JSON_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const

function sendJson(answer: Answer, status: number, json: string): Promise<void> {
  answer.tell(JSON_HEADERS)
  return answer.send(status, json)
}

/** Results that are given out again and again, such as lists, are written once. */
const textOf = remembered((result: object) => JSON.stringify(result))

const written = (message: JSONRPCResponse): string => {
  const { id, result } = message as { readonly id: Id; readonly result?: unknown }
  return isJsonObject(result)
    ? `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${textOf(result)}}`
    : JSON.stringify(message)
}

/** A failure of HTTP or of the message, as an error of JSON-RPC; one that knows no id has none. */
function refuse(
  asked: Asked,
  answer: Answer,
  error: unknown,
  id: Id | undefined,
  { log }: McpPorts,
): Promise<void> {
  const { status, headers, body } =
    error instanceof RpcError ? ofMessage(error) : ofHttp(asked, error, log)
  answer.tell(headers)
  const message = { jsonrpc: '2.0', ...(id !== undefined && { id }), error: body }
  return sendJson(answer, status, JSON.stringify(message))
}

const ofMessage = ({ status, code, message, data }: RpcError) => ({
  status,
  headers: {},
  body: { code, message, ...(data && { data }) },
})

function ofHttp(asked: Asked, error: unknown, log: Log) {
  const fault = reporter(asked, log)(error)
  const { status, headers, body: data } = problem(fault, requestIdOf(asked), MCP_PATH)
  const { 'Content-Type': _, ...others } = headers
  if (fault.code === 'malformed_json') {
    return { status, headers: others, body: { code: RPC.parse, message: fault.message, data } }
  }
  if (status === 400 || status === 422) {
    const told = { code: RPC.invalidRequest, message: fault.message, data }
    return { status: 400, headers: others, body: told }
  }
  const message = status === 401 ? `${fault.message} ${NO_KEY}` : fault.message
  const challenge = status === 401 ? { 'WWW-Authenticate': challengeOf(asked) } : {}
  return {
    status,
    headers: { ...others, ...challenge },
    body: { code: codeOfStatus(status), message, data },
  }
}

const NO_KEY = 'This hub knows API keys alone, and no OAuth: "npx agenthub register" makes one.'

/** RFC 6750: without a key no error is named. */
const challengeOf = ({ req }: Asked): string =>
  (req.headers.authorization ?? '') === ''
    ? 'Bearer realm="hub"'
    : 'Bearer realm="hub", error="invalid_token"'

const reporter =
  (asked: Asked, log: Log) =>
  (error: unknown): Fault =>
    reported(error, log, {
      requestId: requestIdOf(asked),
      method: asked.req.method,
      path: MCP_PATH,
    })
