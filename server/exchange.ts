import type { Context } from 'koa'
import { Fault } from '../core/errors.ts'
import { prefixedId } from '../core/ids.ts'
import { viewOf } from './bytes.ts'
import type { Reply } from './proxy/call.ts'
import { Flow } from './proxy/stream.ts'

/** A name for a request that came without one. */
export const newRequestId = (): string => prefixedId('req')

/** The id that the first middleware gave the request. */
export const requestIdOf = (ctx: Context): string => ctx.state['requestId'] as string

/** Answers; JSON unless the headers say otherwise. */
export function send(ctx: Context, { status, headers, body }: Reply): void {
  ctx.status = status
  if (body instanceof Flow) ctx.body = flowing(body, ctx)
  else ctx.body = body instanceof Uint8Array ? viewOf(body) : jsonOf(body)
  ctx.type = 'application/json'
  ctx.set({ ...headers })
}

/** A stream that fails breaks the answer off: an end in order would say that it was whole. */
const flowing = (flow: Flow, { res }: Context): Flow =>
  flow
    .on('error', () => res.destroy())
    .on('end', () => flow.trailers && res.addTrailers(flow.trailers)) // before Koa ends it

const jsonOf = (body: unknown): string => JSON.stringify(body ?? null)

/**
 * The Authorization header; a key may come as `X-API-Key` too, for callers whose client keeps
 * Authorization for something else.
 * @throws Fault `duplicate_header` when both came
 */
export function authorizationOf(ctx: Context): string | undefined {
  const authorization = header(ctx, 'authorization')
  const key = header(ctx, 'x-api-key')
  if (key === undefined) return authorization
  if (authorization === undefined) return `Bearer ${key}`
  throw new Fault('duplicate_header', 'The key came as Authorization and as X-API-Key.')
}

/** A header that may come once only: two of them would mean two things to two readers. */
export function header(ctx: Context, name: string): string | undefined {
  const values = ctx.req.headersDistinct[name]
  if (values === undefined) return undefined
  if (values.length > 1) throw new Fault('duplicate_header', `${name} came ${values.length} times.`)
  return values[0]
}
