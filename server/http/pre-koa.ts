import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { logFailure } from '../../core/outages.ts'
import { type Observers, startTrace } from '../observability/observe.ts'
import { assignRequestId, correlationHeaders, type Exchange, pathOf } from './exchange.ts'
import { ResponseWriter } from './response-writer.ts'

/** A request that is served without Koa. */
export interface PreKoaExchange extends Exchange {
  /** The path as it was sent, without the query. */
  readonly path: string
  /** Creates Koa's context of the request. Costly and rarely needed. */
  readonly koa: () => Context
}

/** Serves a request. Returns undefined if the path belongs to another handler. */
export type PreKoaHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  koa: () => Context,
) => Promise<void> | undefined

/** Handler that runs before Koa, which would cost as much as all other work of a paid call. */
export const preKoaHandler =
  (
    handles: (path: string) => boolean,
    observers: Observers,
    serve: (exchange: PreKoaExchange, answer: ResponseWriter) => Promise<void>,
  ): PreKoaHandler =>
  (req, res, koa) => {
    const path = pathWithoutQuery(req, koa)
    if (path === undefined || !handles(path)) return undefined
    const exchange: PreKoaExchange = { req, res, state: {}, koa, path }
    startTrace(observers, exchange)
    assignRequestId(exchange)
    const answer = new ResponseWriter(exchange, observers)
    answer.setHeaders(correlationHeaders(exchange))
    return serve(exchange, answer).catch((error: unknown) => {
      logFailure(observers.log, 'error', { err: error }, 'unexpected error of the server')
      res.destroy()
    })
  }

/** Returns the path of a request target. Only Koa parses an absolute URL. */
function pathWithoutQuery({ url = '' }: IncomingMessage, koa: () => Context): string | undefined {
  if (!url.startsWith('/')) return pathOf(koa())
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}
