import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { Fault } from '../../core/errors.ts'
import { prefixedId } from '../../core/ids.ts'
import type { Reply } from '../proxy/call.ts'
import { Flow } from '../proxy/stream.ts'
import { asBuffer } from './bytes.ts'

/** A request and its answer, and what is found out about it on the way. Koa's contexts are such. */
export type Exchange = Pick<Context, 'req' | 'res' | 'state'>

/** A name for a request that came without one. */
export const newRequestId = (): string => prefixedId('req')

/** Gives a request the id that it came with, or one of ours. */
export function assignRequestId(ctx: Exchange): string {
  const given = ctx.req.headers['x-request-id']
  const isId = typeof given === 'string' && /^[\w.-]{8,64}$/.test(given)
  const requestId = isId ? given : newRequestId()
  ctx.state['requestId'] = requestId
  return requestId
}

/** W3C Trace Context. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/

/** Headers by which caller and operator name the request. */
export function correlationHeaders(ctx: Exchange): Record<string, string> {
  const traceparent = ctx.req.headers['traceparent']?.toString() ?? ''
  const names = { 'X-Request-Id': requestIdOf(ctx) }
  return TRACEPARENT.test(traceparent) ? { ...names, traceparent } : names
}

/** The path as it was sent. An absolute target may have none, or be no URL: then Koa throws. */
export function pathOf(ctx: Context): string | undefined {
  try {
    const path: string | null = ctx.path
    return path ?? undefined
  } catch {
    return undefined
  }
}

/** The id that `identify` gave the request. */
export const requestIdOf = (ctx: Exchange): string => ctx.state['requestId'] as string

/** Answers; JSON unless the headers say otherwise. */
export function send(ctx: Context, { status, headers, body }: Reply): void {
  ctx.status = status
  ctx.body = body instanceof Flow ? body : serializeBody(body)
  ctx.type = 'application/json'
  ctx.set({ ...headers })
}

/** A body as it is sent: bytes, or JSON. */
export const serializeBody = (body: unknown): string | Buffer =>
  body instanceof Uint8Array ? asBuffer(body) : JSON.stringify(body ?? null)

/**
 * The Authorization header; a key may come as `X-API-Key` too, for callers whose client keeps
 * Authorization for something else.
 * @throws Fault `duplicate_header` when both came
 */
export function readAuthorization(ctx: Exchange): string | undefined {
  const authorization = readSingleHeader(ctx, 'authorization')
  const key = readSingleHeader(ctx, 'x-api-key')
  if (key === undefined) return authorization
  if (authorization === undefined) return `Bearer ${key}`
  throw new Fault('duplicate_header', 'The key came as Authorization and as X-API-Key.')
}

/** A header that may come once only: two of them would mean two things to two readers. */
export function readSingleHeader({ req }: Pick<Exchange, 'req'>, name: string): string | undefined {
  const value = req.headers[name]
  if (value === undefined) return undefined
  const times = countHeader(req, name)
  if (times > 1) throw new Fault('duplicate_header', `${name} came ${times} times.`)
  return String(value)
}

/** How often a header came. Node joins some of them, and of others keeps the first. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]!
    if (sent.length === name.length && sent.toLowerCase() === name) times++
  }
  return times
}
