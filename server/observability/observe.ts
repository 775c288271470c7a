import type { IncomingMessage } from 'node:http'
import type { Context, Middleware } from 'koa'
import { elapsedMs } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { logFailure } from '../../core/outages.ts'
import type { ConnectionGuard } from '../http/connection-guard.ts'
import { type Exchange, requestIdOf } from '../http/exchange.ts'
import { ResponseStream } from '../http/response-stream.ts'
import { splitBody } from '../http/send-body.ts'
import { sendStream } from '../http/send-stream.ts'
import type { Meters } from './meters.ts'
import type { Spans } from './spans.ts'
import { Trace } from './trace.ts'

export interface Observers {
  readonly log: Log
  readonly meters: Meters
  /** Undefined if no collector is configured. */
  readonly spans: Spans | undefined
  /** True while the process is stopping: clients should reconnect elsewhere. */
  readonly draining: () => boolean
  /** Cuts connections of clients that do not read. */
  readonly connections: ConnectionGuard
  /** Number of trusted reverse proxies: so many of the last addresses in X-Forwarded-For count. */
  readonly proxies: number
}

/** Outermost middleware: traces a request from its first byte to the last of its response. */
export const observe =
  (observers: Observers): Middleware =>
  async (ctx, next) => {
    const trace = startTrace(observers, ctx)
    await next()
    if (trace.steps.length > 0) ctx.set('Server-Timing', trace.serverTiming)
    if (observers.draining()) ctx.set('Connection', 'close')
    if (ctx.body instanceof ResponseStream) sendStreamWithoutKoa(observers, ctx, ctx.body)
    else splitBody(ctx, observers.connections)
  }

/** Sends a stream itself, because Koa would delay the headers until the first chunk. */
function sendStreamWithoutKoa({ log }: Observers, ctx: Context, flow: ResponseStream): void {
  ctx.respond = false
  flow.once('error', (err) => {
    if (ctx.res.destroyed) return // the client disconnected
    const fields = { err, requestId: requestIdOf(ctx), path: ctx.path }
    logFailure(log, 'error', fields, 'download failed')
  })
  sendStream(ctx, flow)
}

/** Starts the trace of a request and reports it when the response is complete. */
export function startTrace(observers: Observers, ctx: Exchange): Trace {
  const trace = new Trace()
  ctx.state['trace'] = trace
  observers.connections.watch(ctx.req, ctx.res, trace)
  ctx.res.on('close', () => {
    observers.connections.forget(ctx.res)
    reportRequest(observers, ctx, trace)
  })
  return trace
}

/** Status logged for a client that disconnected early, as nginx does. */
const CLIENT_CLOSED_REQUEST = 499
/** Routes polled by monitoring, logged at debug level. */
const POLLED_ROUTES = /^\/(?:health|livez|readyz|metrics)$/

/** Returns the address of the client, as Koa does: the first one that trusted proxies added. */
export function clientAddress(req: IncomingMessage, proxies: number): string {
  const direct = req.socket.remoteAddress ?? ''
  const forwarded = proxies > 0 ? req.headers['x-forwarded-for']?.toString() : undefined
  return forwarded?.split(',').slice(-proxies)[0]?.trim() || direct
}

function reportRequest(
  { log, meters, spans, proxies }: Observers,
  { req, res, state }: Exchange,
  trace: Trace,
): void {
  trace.end()
  const until = elapsedMs()
  const { method = '' } = req
  const status = res.writableFinished ? res.statusCode : CLIENT_CLOSED_REQUEST
  const traceparent = req.headers['traceparent']?.toString()
  const recorded = spans?.record(trace, { method, status, traceparent, end: until })
  meters.recordRequest(trace, {
    method,
    status,
    seconds: (until - trace.startedAt) / 1_000,
    traceId: recorded?.isSampled ? recorded.ids.trace : undefined,
  })
  const level = POLLED_ROUTES.test(trace.route) ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  log[level](
    {
      requestId: state['requestId'],
      method,
      route: trace.route,
      status,
      client: clientAddress(req, proxies),
      ms: Math.round(until - trace.startedAt),
      ...(trace.service !== undefined && { service: trace.service }),
      ...(trace.keyId !== undefined && { key: trace.keyId }),
      charged: Number(trace.charged ?? res.getHeader('X-Charged-Microdollars') ?? 0),
      ...recorded?.ids,
    },
    'request',
  )
}
