import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { asBuffer } from '../../core/bytes.ts'
import { Fault } from '../../core/errors.ts'
import { prefixedId } from '../../core/ids.ts'
import { isMppCredential } from '../../core/payments/receiving/mpp-challenges.ts'
import type { HttpResponse } from './http-response.ts'
import { ResponseStream } from './response-stream.ts'

/** A request, its response and what middleware stores about it. A Koa context is one. */
export type Exchange = Pick<Context, 'req' | 'res' | 'state'>

/** Creates an id for a request that came without one. */
export const newRequestId = (): string => prefixedId('req')

/** Stores the request's own X-Request-Id, or a new one, and returns it. */
export function assignRequestId(ctx: Exchange): string {
  const given = ctx.req.headers['x-request-id']
  const isId = typeof given === 'string' && /^[\w.-]{8,64}$/.test(given)
  const requestId = isId ? given : newRequestId()
  ctx.state['requestId'] = requestId
  return requestId
}

/** W3C Trace Context. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/

/** Returns the response headers that identify the request to caller and operator. */
export function correlationHeaders(ctx: Exchange): Record<string, string> {
  const traceparent = ctx.req.headers['traceparent']?.toString() ?? ''
  const names = { 'X-Request-Id': requestIdOf(ctx) }
  return TRACEPARENT.test(traceparent) ? { ...names, traceparent } : names
}

/** Returns the path as sent; undefined for a target that is no URL, on which Koa throws. */
export function pathOf(ctx: Context): string | undefined {
  try {
    const path: string | null = ctx.path
    return path ?? undefined
  } catch {
    return undefined
  }
}

/** Returns the id that `assignRequestId` stored. */
export const requestIdOf = (ctx: Exchange): string => ctx.state['requestId'] as string

/** Writes a reply to the context; JSON unless the headers say otherwise. */
export function send(
  ctx: Context,
  {
    status,
    headers,
    body,
  }: Omit<HttpResponse, 'headers'> & {
    readonly headers: Readonly<Record<string, string | string[]>>
  },
): void {
  ctx.status = status
  ctx.body = body instanceof ResponseStream ? body : serializeBody(body)
  ctx.type = 'application/json'
  ctx.set({ ...headers })
}

/** Returns a body as it is sent: bytes unchanged, anything else as JSON. */
export const serializeBody = (body: unknown): string | Buffer =>
  body instanceof Uint8Array ? asBuffer(body) : JSON.stringify(body ?? null)

/**
 * Reads the Authorization header, unless it is a payment by MPP. A key may come as `X-API-Key`
 * instead, for clients that need Authorization for something else.
 * @throws Fault `duplicate_header` when both are present
 */
export function readAuthorization(ctx: Exchange): string | undefined {
  const sent = readSingleHeader(ctx, 'authorization')
  const authorization = sent !== undefined && isMppCredential(sent) ? undefined : sent
  const key = readSingleHeader(ctx, 'x-api-key')
  if (key === undefined) return authorization
  if (authorization === undefined) return `Bearer ${key}`
  throw new Fault('duplicate_header', 'Send the key as Authorization or as X-API-Key, not both.')
}

/** Reads a header that may come only once, because two readers could pick different values. */
export function readSingleHeader({ req }: Pick<Exchange, 'req'>, name: string): string | undefined {
  const value = req.headers[name]
  if (value === undefined) return undefined
  const times = countHeader(req, name)
  if (times > 1) throw new Fault('duplicate_header', `${name} came ${times} times.`)
  return String(value)
}

/** Counts how often a header was sent. Node joins some repeated headers and drops others. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]!
    if (sent.length === name.length && sent.toLowerCase() === name) times++
  }
  return times
}
